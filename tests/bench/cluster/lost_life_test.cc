// Sums that nodes of a run agree on only with what a killed process had done.

#include "bench/cluster/lost_life.h"

#include <gtest/gtest.h>

#include "bench/cluster/merge.h"

namespace granary::bench::cluster {
namespace {

constexpr std::size_t kVictim = 1;

class LostLife : public testing::Test {
 protected:
  /// The killed life had loaded 100 and changed the first sum by 7 and 5, the second by 1.
  LostLife() {
    lost_.sums = 2;
    lost_.loaded[0] = 100;
    lost_.workers[0].changed[0] = 7;
    lost_.workers[1].changed[0] = 5;
    lost_.workers[1].changed[1] = 1;
  }
  /// Two nodes, each with one condition about the data and two about sums; what is found in all, beyond what the lives
  /// that reported expect.
  bool holds(std::uint64_t first, std::uint64_t second) {
    const NodeShare share{.node = 0, .nodes = 2, .in_cluster = true};
    std::vector<Measurement> nodes(2);
    for (Measurement& node : nodes) {
      node.findings = {{"all there", true, ""},
                       sums_agree("money", {.expected = 50, .found = 50}, share),
                       sums_agree("history", {.expected = 3, .found = 3}, share)};
    }
    nodes[0].findings[1].tally->found += first;
    nodes[kVictim].findings[2].tally->found += second;
    add_lost_life(lost_, nodes, kVictim);
    const Measurement all = merged(nodes);
    return std::ranges::all_of(all.findings, &Finding::holds);
  }

  LifeAccount lost_;
};

TEST_F(LostLife, CountsWhatItHadLoadedAndDone) {
  EXPECT_TRUE(holds(112, 1));
  EXPECT_FALSE(holds(111, 1));
  EXPECT_FALSE(holds(112, 0));
  EXPECT_FALSE(holds(0, 0));
}

TEST_F(LostLife, AnOpenRequestMayHaveBeenCommitted) {
  lost_.workers[0].open[0] = 20;
  lost_.workers[1].open[0] = 3;
  for (const std::uint64_t open : {0u, 20u, 3u, 23u}) EXPECT_TRUE(holds(112 + open, 1)) << open;
  for (const std::uint64_t open : {1u, 17u, 40u}) EXPECT_FALSE(holds(112 + open, 1)) << open;
  EXPECT_FALSE(holds(112, 21)) << "another sum's";
}

/// A sum must not count a request that another sum takes for one that was not committed.
TEST_F(LostLife, AnOpenRequestCountsInAllSumsOrInNone) {
  lost_.workers[0].open[0] = 20;
  lost_.workers[0].open[1] = 1;
  lost_.workers[1].open[0] = 3;
  lost_.workers[1].open[1] = 1;
  EXPECT_TRUE(holds(112, 1)) << "none was committed";
  EXPECT_TRUE(holds(112 + 20, 1 + 1));
  EXPECT_TRUE(holds(112 + 3, 1 + 1));
  EXPECT_TRUE(holds(112 + 23, 1 + 2));
  EXPECT_FALSE(holds(112 + 20, 1)) << "the other sum has lost it";
  EXPECT_FALSE(holds(112, 1 + 1));
  EXPECT_FALSE(holds(112 + 3, 1 + 2)) << "one request changes the other sum by one";
}

TEST_F(LostLife, AnOpenRequestMayHaveTakenAway) {
  lost_.workers[0].open[0] = static_cast<std::uint64_t>(-20);
  EXPECT_TRUE(holds(92, 1));
  EXPECT_FALSE(holds(102, 1));
}

TEST_F(LostLife, WithoutAccountNothingIsAdded) {
  lost_.sums = 0;
  EXPECT_TRUE(holds(0, 0));
}

}  // namespace
}  // namespace granary::bench::cluster
