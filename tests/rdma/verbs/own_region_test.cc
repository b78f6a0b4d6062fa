// The words of a fabric's own region.

#include "rdma/verbs/own_region.h"

#include <vector>

#include <gtest/gtest.h>

#include "cluster_config/config.h"

namespace granary::rdma::verbs {
namespace {

/// Each node of the largest cluster has so many endpoints, all of which may connect to one node: two for each worker,
/// and one each for the service, the leader, the survivor and the node itself, and one that is being opened.
constexpr std::size_t kEndpoints = 2 * cluster_config::kMostWorkers + 5;
constexpr std::size_t kNeeded = cluster_config::kMostNodes * kEndpoints;
static_assert(OwnRegion::kMostWords >= kNeeded);

TEST(OwnRegion, HasAWordForEachConnectionOfTheLargestCluster) {
  const auto own = OwnRegion::map().value();
  std::vector<OwnRegion::Word> taken;
  for (std::size_t i = 0; i < kNeeded; ++i) {
    taken.push_back(own->take());
    ASSERT_TRUE(taken.back()) << i;
  }
  EXPECT_LT(OwnRegion::offset_of(taken.back().place()), own->region().size());
}

TEST(OwnRegion, GivesAWordThatIsFreeAgain) {
  const auto own = OwnRegion::map().value();
  std::vector<OwnRegion::Word> taken(OwnRegion::kMostWords);
  for (OwnRegion::Word& word : taken) word = own->take();
  EXPECT_FALSE(own->take());
  taken[7].value().store(1);
  taken[7] = {};
  const OwnRegion::Word again = own->take();
  ASSERT_TRUE(again);
  EXPECT_EQ(again.place(), 7);
  EXPECT_EQ(again.value().load(), 0u);
}

}  // namespace
}  // namespace granary::rdma::verbs
