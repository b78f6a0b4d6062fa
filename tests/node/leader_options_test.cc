// What a node does as the leader of epochs, by the configuration alone. Not covered: the thread that does it
// (start_test.cc).

#include <gtest/gtest.h>

#include "src/node/leader_thread.h"

namespace granary::db {
namespace {

using membership::MemberState;

/// Nodes 1, 2 and 3 serve, and node 1 leads.
membership::Configuration three_that_serve() {
  membership::Configuration configuration;
  configuration.number = 7;
  configuration.leads = 1;
  for (const membership::NodeId id : {1, 2, 3}) {
    membership::Member& member = configuration.add(id);
    member.id = id;
    member.generation = 1;
    member.state = MemberState::kServing;
  }
  return configuration;
}

cluster::LeaderOptions of_node_1(const membership::Configuration& configuration) {
  return leader_options(configuration, 1, {1, 2, 3}, 100);
}

TEST(LeaderOptions, OneNodeLeadsAllThatCanBeReached) {
  membership::Configuration configuration = three_that_serve();
  EXPECT_EQ(of_node_1(configuration).members.size(), 3u);
  EXPECT_EQ(of_node_1(configuration).configuration, 7u);
  EXPECT_TRUE(leader_options(configuration, 2, {1, 2, 3}, 100).members.empty());
  configuration.find(2)->state = MemberState::kJoining;
  configuration.find(3)->state = MemberState::kReady;
  EXPECT_EQ(of_node_1(configuration).members.size(), 2u);
}

/// What a dead node has decided may be in its rings only, and others may have read it (I20).
TEST(LeaderOptions, DStaysWhileAnythingIsOwed) {
  membership::Configuration configuration = three_that_serve();
  EXPECT_TRUE(of_node_1(configuration).going.durable);
  configuration.find(3)->state = MemberState::kDead;
  configuration.owed.push_back({.node = 3, .generation = 1, .number = 7});
  EXPECT_FALSE(of_node_1(configuration).going.durable);
  configuration.owed.clear();
  EXPECT_TRUE(of_node_1(configuration).going.durable);
  configuration.find(3)->state = MemberState::kReady;
  configuration.owed.push_back({.node = 2, .generation = 1, .number = 8});
  EXPECT_FALSE(of_node_1(configuration).going.durable) << "whoever owes it, and though others are back";
}

/// A node that does not serve may need logs that all others have checkpoints for.
TEST(LeaderOptions, CheckpointsAreInstalledOnlyWhileAllNodesServe) {
  membership::Configuration configuration = three_that_serve();
  EXPECT_TRUE(of_node_1(configuration).going.checkpoints);
  for (const MemberState state : {MemberState::kDead, MemberState::kLeft, MemberState::kJoining, MemberState::kReady}) {
    configuration.find(3)->state = state;
    EXPECT_FALSE(of_node_1(configuration).going.checkpoints) << name(state);
    EXPECT_TRUE(of_node_1(configuration).going.durable) << name(state);
  }
  configuration.find(3)->state = MemberState::kServing;
  EXPECT_FALSE(leader_options(configuration, 1, {1, 2, 3, 4}, 100).going.checkpoints) << "node 4 has never been there";
  EXPECT_FALSE(leader_options(configuration, 1, {1, 2, 3, 4}, 100).going.durable);
}

}  // namespace
}  // namespace granary::db
