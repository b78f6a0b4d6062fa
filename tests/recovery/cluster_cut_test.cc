// How far the logs of a cluster's nodes count: by rule. With whole databases: tests/durability/cluster_recovery_test.cc.

#include "recovery/cluster_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace granary::recovery {
namespace {

using testing::ElementsAre;
using Cuts = std::vector<std::optional<epoch::Epoch>>;

NodeLogState running(epoch::Epoch first_epoch, epoch::Epoch durable, bool rings) {
  return {.running = NodeLogState::Running{first_epoch, durable, rings}};
}
Cuts cuts(std::vector<NodeLogState> nodes) { return agree_on_cuts(nodes); }

TEST(ClusterCut, NothingIsMissingIfAllRingsAreThere) {
  EXPECT_THAT(cuts({running(1, 20, true), running(1, 30, true), {}}),
              ElementsAre(std::nullopt, std::nullopt, std::nullopt));
}

TEST(ClusterCut, OneNodeWithoutItsRingsTakesAllBackToTheLeastD) {
  EXPECT_THAT(cuts({running(1, 20, true), running(1, 30, false)}), ElementsAre(20u, 20u));
}

TEST(ClusterCut, ANodeThatEndedInOrderHoldsNobodyBack) {
  NodeLogState ended;
  EXPECT_THAT(cuts({ended, running(1, 30, false)}), ElementsAre(std::nullopt, 30u));
}

TEST(ClusterCut, WhatWasAgreedOnAndReachedSomeNodesOnlyHolds) {
  NodeLogState told;
  told.agreed = {{20, 100}};
  EXPECT_THAT(cuts({told, running(1, 30, true)}), ElementsAre(std::nullopt, 20u)) << "although its rings are there";
  EXPECT_THAT(cuts({told, running(100, 130, true)}), ElementsAre(std::nullopt, std::nullopt)) << "begun after it";
  NodeLogState told_and_begun = running(100, 110, false);
  told_and_begun.agreed = {{20, 100}};
  EXPECT_THAT(cuts({told_and_begun, running(1, 30, false)}), ElementsAre(30u, 20u));
}

TEST(ClusterCut, StatesComeFromManifests) {
  Manifest manifest;
  manifest.generations = {{.number = 1, .first_epoch = 1, .cut = 20, .durable = 20, .agreed = true},
                          {.number = 2, .first_epoch = 100, .cut = 110, .durable = 110},
                          {.number = 3, .first_epoch = 200}};
  const NodeLogState state = state_of(manifest, 210, true);
  ASSERT_TRUE(state.running);
  EXPECT_EQ(state.running->first_epoch, 200u);
  EXPECT_EQ(state.running->durable, 210u);
  ASSERT_EQ(state.agreed.size(), 1u);
  EXPECT_EQ(state.agreed[0].cut, 20u);
  EXPECT_EQ(state.agreed[0].until, 100u);
  manifest.generations.pop_back();
  EXPECT_FALSE(state_of(manifest, 0, false).running);
}

}  // namespace
}  // namespace granary::recovery
