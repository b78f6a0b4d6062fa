// A node dies, and more goes wrong while what it owes is settled: at random moments, over many seeds (redo_world.h). A
// failure prints the line that replays its seed. Each single step is in settle_all_test.cc; who recovers when is for
// src/node and its tests.

#include <gtest/gtest.h>

#include "tests/cluster/recovery/redo_world.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::cluster::test {
namespace {

void add(SettleCounts& sum, const SettleCounts& counts) {
  sum.redone += counts.redone;
  sum.freed += counts.freed;
  sum.settled_before += counts.settled_before;
  sum.gone += counts.gone;
}

TEST(SecondFailures, LoseNothingAndDoubleNothing) {
  if (!recovery::boot_id().ok()) GTEST_SKIP() << "this system has no boot id, so no rings survive";
  RedoWorld::Counts sums;
  const std::uint64_t seeds = tests::sampled(300);
  for (const std::uint64_t seed : tests::seeds(seeds)) {
    RedoWorld world(seed, seed % 2 == 0 ? IndexKind::kHash : IndexKind::kOrdered);
    ASSERT_EQ(world.run(), "") << "seed " << seed;
    const RedoWorld::Counts& counts = world.counts();
    sums.committed += counts.committed;
    sums.homes_died += counts.homes_died;
    sums.recoverers_died += counts.recoverers_died;
    sums.refused += counts.refused;
    add(sums.first, counts.first);
    add(sums.second, counts.second);
  }
  if (!tests::all_seeds()) return;
  EXPECT_GT(sums.committed, 10 * seeds);
  EXPECT_GT(sums.homes_died, seeds / 6);
  EXPECT_GT(sums.recoverers_died, seeds / 6);
  EXPECT_GT(sums.refused, seeds / 20);
  for (const std::uint64_t often : {sums.first.redone, sums.first.freed, sums.first.settled_before, sums.second.gone})
    EXPECT_GT(often, seeds / 6);
  for (const std::uint64_t often : {sums.first.gone, sums.second.redone, sums.second.freed})
    EXPECT_GT(often, seeds / 30) << "what the first recoverer has not done, or could not";
}

}  // namespace
}  // namespace granary::cluster::test
