// Owner and other nodes on the same few records, with many seeds: no lost update, nothing torn, no lock left behind. A
// failure names the seed that repeats it.

#include "tests/cluster/record_access/hammer.h"

#include <gtest/gtest.h>

#include "src/base/sanitizers.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::cluster {
namespace {

/// None if one alone is asked for, which is not judged by what all of them should have done.
std::uint64_t seeds_of(std::uint64_t seeds) {
  if (!tests::all_seeds()) return 0;
  return tests::scaled(base::kAddressSanitizer || base::kThreadSanitizer ? seeds / 10 : seeds);
}

struct Sums {
  std::uint64_t commits = 0;
  std::uint64_t resumed = 0;
  std::uint64_t leased = 0;
};

Sums hammer(HammerOptions options, std::uint64_t seeds) {
  Sums sums;
  for (const std::uint64_t seed : tests::seeds(seeds)) {
    options.network.seed = seed;
    Hammer run(options);
    const std::string wrong = run.run();
    EXPECT_EQ(wrong, "") << "seed " << seed;
    if (!wrong.empty()) break;
    sums.commits += run.remote_commits();
    sums.resumed += run.resumed();
    sums.leased += run.leased();
  }
  return sums;
}

TEST(Hammer, NodesThatLive) {
  const std::uint64_t seeds = seeds_of(500);
  EXPECT_GT(hammer({.remotes = 2}, seeds).commits, seeds * 3);
}

TEST(Hammer, ThreeNodesAndShortDelays) {
  const std::uint64_t seeds = seeds_of(150);
  EXPECT_GT(hammer({.network = {.least_delay = 100, .most_delay = 3'000, .tear = 6'000}, .remotes = 3}, seeds).commits,
            seeds * 3);
}

TEST(Hammer, ConnectionsThatBreak) {
  const std::uint64_t seeds = seeds_of(500);
  const Sums sums = hammer({.network = {.loss = 0.05}, .remotes = 2}, seeds);
  EXPECT_GT(sums.commits, seeds * 3);
  EXPECT_GT(sums.resumed, seeds);
}

TEST(Hammer, NodesThatTakeLeases) {
  const std::uint64_t seeds = seeds_of(300);
  const Sums sums = hammer({.remotes = 2, .leases = 0.5}, seeds);
  EXPECT_GT(sums.commits, seeds);
  EXPECT_GT(sums.leased, seeds * 3);
}

TEST(Hammer, NodesThatTakeLeasesAndCrash) {
  const std::uint64_t seeds = seeds_of(60);
  const Sums sums = hammer({.network = {.loss = 0.02}, .remotes = 3, .crashes = 3, .leases = 0.3}, seeds);
  EXPECT_GT(sums.commits, seeds);
  EXPECT_GT(sums.leased, seeds * 3);
}

TEST(Hammer, NodesThatCrash) {
  const std::uint64_t seeds = seeds_of(150);
  EXPECT_GT(hammer({.network = {.loss = 0.02}, .remotes = 2, .crashes = 3}, seeds).commits, seeds * 3);
}

}  // namespace
}  // namespace granary::cluster
