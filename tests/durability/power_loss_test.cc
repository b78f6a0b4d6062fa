// Databases that lose power, at any call of the file system, again and again, while they run and while they recover:
// each opening finds exactly the transactions up to its durable epoch, all that was released among them, and what one
// opening dropped no later one brings back.
//
// Not covered: sectors torn inside (tests/support/fault_files.h), real devices.

#include <gtest/gtest.h>

#include "tests/durability/crash_rig.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::tests {
namespace {

constexpr auto kPowerLoss = CrashRig::Crash::kPowerLoss;

/// Runs until the power fails, most often inside a call of the file system.
void run_until_crash(CrashRig& rig) {
  if (rig.random().below(5) != 0) rig.arm(kPowerLoss, 1 + rig.random().below(120));
  for (int i = 0; i < 40 && !rig.crashed(); ++i) rig.act(20);
  rig.crash(kPowerLoss);
}

class PowerLoss : public testing::TestWithParam<int> {};

TEST_P(PowerLoss, LeavesExactlyWhatIsDurable) {
  for (const std::uint64_t seed : seeds(sampled(25), 1 + sampled(25) * static_cast<std::uint64_t>(GetParam()))) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashRig rig(seed);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    for (int crash = 0; crash < 5; ++crash) {
      SCOPED_TRACE("crash " + std::to_string(crash));
      run_until_crash(rig);
      ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
      if (HasFailure()) return;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, PowerLoss, testing::Range(0, 8));

TEST(PowerLossTwice, WhileRecovering) {
  for (const std::uint64_t seed : seeds(sampled(60))) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashRig rig(seed);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    run_until_crash(rig);
    for (int crash = 0; crash < 6; ++crash) {
      SCOPED_TRACE("crash " + std::to_string(crash) + " while it opens");
      rig.arm(kPowerLoss, 1 + rig.random().below(20));
      ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
      rig.crash(kPowerLoss);
    }
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    run_until_crash(rig);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    if (HasFailure()) return;
  }
}

TEST(PowerLossTwice, AtEveryCallOfARecovery) {
  for (const std::uint64_t seed : seeds(sampled(6))) {
    bool reached = true;
    for (std::uint64_t call = 1; reached; ++call) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(call));
      CrashRig rig(seed);
      ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
      rig.act(600);
      rig.crash(kPowerLoss);
      rig.arm(kPowerLoss, call);
      ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
      reached = rig.crashed();
      rig.crash(kPowerLoss);
      ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
      if (HasFailure()) return;
    }
  }
}

TEST(PowerLossTwice, AnOpeningThatIsLeftAtOnceChangesNothing) {
  for (const std::uint64_t seed : seeds(sampled(20))) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashRig rig(seed);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    run_until_crash(rig);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    const State state = rig.read_all();
    std::uint64_t durable = rig.database().recovery_report().durable_epoch;
    for (int i = 0; i < 3; ++i) {
      rig.crash(kPowerLoss);
      ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
      EXPECT_EQ(difference(state, rig.read_all()), "");
      EXPECT_GE(rig.database().recovery_report().durable_epoch, durable);
      durable = rig.database().recovery_report().durable_epoch;
    }
  }
}

}  // namespace
}  // namespace granary::tests
