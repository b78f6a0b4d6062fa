// Nodes die at random moments, are recovered by others that go on, and come back in the same history. The history is
// strictly serializable, nothing stays locked, and an epoch that counts as durable is in all logs and stays durable.
// Other nodes die while a node is being recovered or comes back; a disk loses what was not synced, and the rings are
// there. Snapshots see exactly the epochs before their own, on all nodes alike, and go on to see that while nodes die.
// Nodes also die with blocks that they have borrowed for old versions, and between the link of such a version and their
// decision. A failure prints the line that replays its seed. Not here: loss of power with the rings, leases, secondary
// indexes, scans, checkpoints, several transactions of one worker at once, and all nodes starting together.

#include <functional>

#include <gtest/gtest.h>

#include "bench/append/history/check.h"
#include "recovery/owner.h"
#include "src/base/sanitizers.h"
#include "tests/cluster/recovery/crash_world.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::cluster::test {
namespace {

class CrashHistory : public testing::Test {
 protected:
  void SetUp() override {
    if (!recovery::boot_id().ok()) GTEST_SKIP() << "this system has no boot id, so no rings survive";
  }
  /// `options_of` tells what a seed is tried with.
  void judge(const std::function<CrashOptions(std::uint64_t seed)>& options_of) {
    for (const std::uint64_t seed : tests::seeds(seed_count())) {
      CrashOptions options = options_of(seed);
      options.seed = seed;
      const bool by_times = seed % 4 > 1;
      options.protocol = by_times ? "tictoc" : "silo";
      CrashWorld world(options);
      ASSERT_EQ(world.run(), "") << "seed " << seed;
      if (!by_times) {
        const bench::history::Verdict verdict =
            bench::history::check(bench::history::without_snapshots(world.history()), {.strict = true});
        ASSERT_TRUE(verdict.valid()) << "seed " << seed << ": " << verdict.text();
      }
      const bench::history::Verdict verdict = bench::history::check(world.history(), {.strict = false});
      ASSERT_TRUE(verdict.valid()) << "seed " << seed << ", with snapshots: " << verdict.text();
      add(world.counts());
    }
  }
  void add(const CrashWorld::Counts& counts) {
    sums_.committed += counts.committed;
    sums_.unknown += counts.unknown;
    sums_.released += counts.released;
    sums_.settled.redone += counts.settled.redone;
    sums_.settled.freed += counts.settled.freed;
    sums_.settled.settled_before += counts.settled.settled_before;
    sums_.settled.gone += counts.settled.gone;
    sums_.to_write += counts.to_write;
    sums_.looks += counts.looks;
    sums_.again += counts.again;
    sums_.again_after_death += counts.again_after_death;
    sums_.kept += counts.kept;
    sums_.died_keeping += counts.died_keeping;
    sums_.cut_short += counts.cut_short;
    sums_.returned += counts.returned;
    sums_.lost_at_death += counts.lost_at_death;
    sums_.lost_when_adopted += counts.lost_when_adopted;
  }

  void expect_much() const {
    if (!tells_sums()) return;
    EXPECT_GT(sums_.committed, 20 * seed_count());
    EXPECT_GT(sums_.released, 5 * seed_count());
    EXPECT_GE(sums_.returned, seed_count());
    EXPECT_GT(sums_.unknown, 0u);
    EXPECT_GT(sums_.settled.redone, 0u);
    EXPECT_GT(sums_.settled.freed, 0u);
    EXPECT_GT(sums_.settled.settled_before, 0u);
    EXPECT_GT(sums_.lost_at_death, 0u);
    EXPECT_GT(sums_.lost_when_adopted, 0u);
    EXPECT_GT(sums_.to_write, 5 * seed_count());
    EXPECT_GT(sums_.looks, seed_count());
    EXPECT_GT(sums_.again, seed_count());
    EXPECT_GT(sums_.again_after_death, 0u);
    EXPECT_GT(sums_.kept, seed_count());
    EXPECT_GT(sums_.died_keeping, 0u);
  }

  void expect_second_failures() const {
    if (!tells_sums()) return;
    EXPECT_GT(sums_.cut_short, 0u);
    EXPECT_GT(sums_.settled.gone, 0u);
  }
  /// Of each test. `scripts/test.sh --full`, whose scale is 20, tries more than 20,000 in all.
  static std::uint64_t seed_count() {
    if (base::kAddressSanitizer || base::kThreadSanitizer) return tests::scaled(11);
    constexpr std::uint64_t kSeeds = 100, kMoreWithEachScale = 350;
    return kSeeds + kMoreWithEachScale * (tests::scaled(1) - 1);
  }
  /// Whether so many seeds have run that all that may happen has happened.
  static bool tells_sums() {
    return tests::all_seeds() && !base::kAddressSanitizer && !base::kThreadSanitizer && !HasFailure();
  }

  CrashWorld::Counts sums_;
};

TEST_F(CrashHistory, OneNodeDies) {
  judge(
      [](std::uint64_t seed) { return CrashOptions{.index = seed % 2 == 0 ? IndexKind::kHash : IndexKind::kOrdered}; });
  expect_much();
}

CrashOptions some_deaths(std::uint64_t seed, std::uint64_t least, std::uint64_t most) {
  base::Random random(seed, 2);
  return {.index = random.chance(0.5) ? IndexKind::kHash : IndexKind::kOrdered,
          .nodes = static_cast<unsigned>(random.between(3, 4)),
          .clients = static_cast<unsigned>(random.between(1, 3)),
          .lists = static_cast<unsigned>(random.between(1, 2)),
          .length = random.chance(0.3) ? 3U : 12U,
          .deaths = static_cast<unsigned>(random.between(least, most)),
          .most_between = static_cast<unsigned>(random.between(200, 3'000))};
}

/// The second one may be the node that recovers the first, the first itself on its way back, or the last but one that
/// serves.
TEST_F(CrashHistory, AnotherDiesMeanwhile) {
  judge([](std::uint64_t seed) { return some_deaths(seed, 2, 2); });
  expect_much();
  expect_second_failures();
}

TEST_F(CrashHistory, OneAfterAnotherDies) {
  judge([](std::uint64_t seed) { return some_deaths(seed, 3, 4); });
  expect_much();
  expect_second_failures();
}

}  // namespace
}  // namespace granary::cluster::test
