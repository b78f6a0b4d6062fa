// Databases whose process dies: the kernel keeps what was written, the rings stay, and everything that committed is
// there, released or not. Between such crashes, power losses, and disks that forget what was not synced.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/durability/crash_rig.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::tests {
namespace {

using Crash = CrashRig::Crash;

void run_until_crash(CrashRig& rig, Crash crash) {
  if (rig.random().below(3) != 0) rig.arm(crash, 1 + rig.random().below(120));
  for (int i = 0; i < 30 && !rig.crashed(); ++i) rig.act(20);
  rig.crash(crash);
}

TEST(ProcessCrash, LosesNothingThatCommitted) {
  for (const std::uint64_t seed : seeds(sampled(80))) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashRig rig(seed);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    for (int crash = 0; crash < 4; ++crash) {
      SCOPED_TRACE("crash " + std::to_string(crash));
      run_until_crash(rig, Crash::kProcess);
      ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
      if (HasFailure()) return;
    }
  }
}

TEST(ProcessCrash, BetweenPowerLossesAndWhileRecovering) {
  const auto either = [](CrashRig& rig) { return static_cast<Crash>(rig.random().below(3)); };
  for (const std::uint64_t seed : seeds(sampled(80))) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashRig rig(seed);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    for (int crash = 0; crash < 6; ++crash) {
      SCOPED_TRACE("crash " + std::to_string(crash));
      if (rig.random().below(3) == 0) {
        const Crash kind = either(rig);
        rig.crash(Crash::kProcess);
        rig.arm(kind, 1 + rig.random().below(20));
        ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
        rig.crash(kind);
      } else {
        run_until_crash(rig, either(rig));
      }
      ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
      if (HasFailure()) return;
    }
  }
}

/// The opening that takes what the rings have is cut short at each of its calls, by any kind of crash.
TEST(ProcessCrash, AtEveryCallOfARecovery) {
  for (const Crash kind : {Crash::kProcess, Crash::kPowerLoss, Crash::kDisk}) {
    for (const std::uint64_t seed : seeds(sampled(6))) {
      bool reached = true;
      for (std::uint64_t call = 1; reached; ++call) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(call));
        CrashRig rig(seed);
        ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
        rig.act(200);
        rig.crash(Crash::kProcess);
        rig.arm(kind, call);
        ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
        reached = rig.crashed();
        rig.crash(kind);
        ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
        rig.crash(Crash::kPowerLoss);
        ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
        if (HasFailure()) return;
      }
    }
  }
}

/// The file system keeps only what was synced, and any part of the rest, while the rings stay: a volume that was
/// detached by force, or a file system that was aborted after an error and mounted again.
TEST(DiskLoss, WithTheRingsNothingIsMissing) {
  for (std::uint64_t seed = 1; seed <= sampled(80); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashRig rig(seed);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    for (int crash = 0; crash < 4; ++crash) {
      SCOPED_TRACE("crash " + std::to_string(crash));
      run_until_crash(rig, Crash::kDisk);
      ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
      if (HasFailure()) return;
    }
  }
}

/// A disk that gives up what it had synced, under rings that go on from there: both places are named, and nothing is
/// served.
TEST(DiskLoss, OfWhatWasSyncedIsRefusedWithBothPlaces) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= sampled(40) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashRig rig(seed);
    ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
    rig.act(300);
    const auto older = rig.files().power_loss_image(Survives::kSynced);
    rig.act(300);
    rig.crash(Crash::kProcess);
    // Each segment is as it was then, those that there were not are gone.
    for (const std::string& path : rig.files().paths()) {
      if (path.find("/log-g") == std::string::npos) continue;
      const std::string before = older->contents(path);
      if (before.empty()) {
        ASSERT_TRUE(rig.files().remove(path).ok());
      } else {
        rig.files().put(path, before);
      }
    }
    const Status opened = rig.open();
    if (opened.ok()) {
      EXPECT_EQ(rig.verify(), "");
      continue;
    }
    EXPECT_EQ(opened.code(), StatusCode::kDamaged) << opened.message();
    if (opened.message().find("what had been synced") == std::string::npos)
      continue;  // D itself is missing, or a segment
    EXPECT_THAT(opened.message(),
                testing::ContainsRegex("read up to '/.*glog', offset [0-9]+ .*ring-000[0-9]' goes on from "
                                       "'log-g.*glog', offset [0-9]+"));
    ++refused;
  }
  EXPECT_GT(refused, 5u);
}

TEST(ProcessCrash, WithTheRingsOneKnowsThatNothingIsMissing) {
  CrashRig rig(1);
  ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
  ASSERT_EQ(rig.commit_one(), AbortReason::kNone);  // only in the ring: no epoch has passed
  rig.crash(Crash::kProcess);
  ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
  EXPECT_TRUE(rig.database().recovery_report().rings);
  EXPECT_EQ(rig.database().recovery_report().transactions, 1u);
}

TEST(PowerLossOfRings, TakesWhatWasOnlyThere) {
  CrashRig rig(1);
  ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
  ASSERT_EQ(rig.commit_one(), AbortReason::kNone);
  rig.crash(Crash::kPowerLoss);
  ASSERT_NO_FATAL_FAILURE(open_and_verify(rig));
  EXPECT_FALSE(rig.database().recovery_report().rings);
  EXPECT_EQ(rig.read_all(), State{});
}

}  // namespace
}  // namespace granary::tests
