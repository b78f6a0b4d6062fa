// How far the logs of a cluster's nodes count: by rule. With whole databases:
// tests/durability/cluster_recovery_test.cc.

#include "recovery/cluster_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace granary::recovery {
namespace {

using testing::ElementsAre;

NodeLogState running(epoch::Epoch durable, bool rings) { return {.running = NodeLogState::Running{durable, rings}}; }
NodeLogState over(epoch::Epoch cut, bool agreed = false) {
  return {.over = cut, .agreed = agreed ? std::optional(cut) : std::nullopt};
}

/// "whole", "to 20", or "-" for a node whose log stays as it is.
std::vector<std::string> ends(std::vector<NodeLogState> nodes) {
  std::vector<std::string> text;
  for (const NodeLogEnd& end : agree_on_ends(nodes)) {
    text.push_back(!end.needed ? "-" : end.cut ? "to " + std::to_string(*end.cut) : "whole");
  }
  return text;
}

TEST(ClusterCut, NothingIsMissingIfAllRingsAreThere) {
  EXPECT_THAT(ends({running(20, true), running(30, true), {}}), ElementsAre("whole", "whole", "-"));
}

TEST(ClusterCut, OneNodeWithoutItsRingsTakesAllBackToTheLeastD) {
  EXPECT_THAT(ends({running(20, true), running(30, false)}), ElementsAre("to 20", "to 20"));
}

TEST(ClusterCut, ANodeThatEndedInOrderHoldsNobodyBack) {
  EXPECT_THAT(ends({{}, over(25), running(30, false)}), ElementsAre("-", "-", "to 30"));
}

TEST(ClusterCut, ANodeThatEndedInOrderGoesBackWithTheOthers) {
  EXPECT_THAT(ends({over(40), running(30, false)}), ElementsAre("to 30", "to 30"))
      << "it may depend on what is lost there";
  EXPECT_THAT(ends({over(40), running(30, true)}), ElementsAre("-", "whole"));
}

TEST(ClusterCut, WhatWasAgreedOnAndReachedSomeNodesOnlyHolds) {
  EXPECT_THAT(ends({over(20, true), running(30, true)}), ElementsAre("-", "to 20")) << "although its rings are there";
  EXPECT_THAT(ends({over(20, true), over(40)}), ElementsAre("-", "to 20"));
  EXPECT_THAT(ends({over(20, true), over(20, true)}), ElementsAre("-", "-"));
}

TEST(ClusterCut, WhatWasSavedIsGivenUpIfAnotherNodeLosesItsRingsBeforeAllAreDone) {
  EXPECT_THAT(ends({running(20, true), running(30, true)}), ElementsAre("whole", "whole"));
  EXPECT_THAT(ends({over(45), running(30, false)}), ElementsAre("to 30", "to 30"));
}

TEST(ClusterCut, AllBeginBehindEveryEpochThatThereWas) {
  const std::vector<NodeLogState> nodes = {{.first_epoch = 7}, {.first_epoch = 70}, {}};
  EXPECT_EQ(first_epoch_after(nodes), 70u);
}

TEST(ClusterCut, StatesComeFromTheLastGenerationThatWasBegun) {
  Manifest manifest;
  EXPECT_EQ(state_of(manifest, {0, false}, 1, 0), NodeLogState());
  manifest.generations = {{.number = 1, .first_epoch = 1, .cut = 20, .durable = 20, .agreed = true},
                          {.number = 2, .first_epoch = 100, .cut = 100, .durable = 99, .end = true}};
  EXPECT_EQ(state_of(manifest, {0, false}, 101, 0), (NodeLogState{.over = 20, .agreed = 20, .first_epoch = 101}));
  manifest.generations.push_back({.number = 3, .first_epoch = 200, .cut = {}});
  EXPECT_EQ(state_of(manifest, {210, true}, 220, 0),
            (NodeLogState{.running = NodeLogState::Running{210, true}, .first_epoch = 220}))
      << "what was agreed before has been carried out by all";
  manifest.generations.back().cut = 230;
  EXPECT_EQ(state_of(manifest, {0, false}, 231, 0), (NodeLogState{.over = 230, .first_epoch = 231}));
}

/// A node that came back, and was not let in before all died, has nothing that could be missing: what the others have
/// stays.
TEST(ClusterCut, ANodeThatWasNeverLetInRestrictsNobody) {
  Manifest manifest;
  manifest.generations = {{.number = 1, .first_epoch = 1, .cut = 20, .durable = 20},
                          {.number = 2, .first_epoch = 30, .cut = {}, .begins_empty = true}};
  const NodeLogState empty = state_of(manifest, {29, false}, 31, 0);
  EXPECT_THAT(ends({over(40), empty}), ElementsAre("-", "whole"));
  EXPECT_THAT(ends({running(50, true), empty}), ElementsAre("whole", "whole"));
  EXPECT_THAT(ends({running(50, false), empty, over(60)}), ElementsAre("to 50", "to 50", "to 50"));
  EXPECT_EQ(*log_state_of(to_text(empty)), empty);
  manifest.generations.back().admitted = 45;
  EXPECT_EQ(state_of(manifest, {44, false}, 46, 0).running, (NodeLogState::Running{44, false}));
}

/// All logs had everything up to what was released, so one that has less now has lost it.
TEST(ClusterCut, NoNodeGoesBackBelowWhatWasReleased) {
  const auto knows = [](NodeLogState state, epoch::Epoch released) {
    state.released = released;
    return state;
  };
  const std::vector<NodeLogState> lost = {knows(over(40), 38), running(20, false), running(39, true)};
  EXPECT_EQ(short_of_released(lost), 1u);
  EXPECT_EQ(lost_released(lost, 1, "node 7").code(), StatusCode::kDamaged);
  EXPECT_EQ(short_of_released(std::vector{knows(over(40), 38), running(38, false)}), std::nullopt);
  EXPECT_EQ(short_of_released(std::vector{knows(over(40), 38), running(20, true)}), std::nullopt) << "it has its rings";
  EXPECT_EQ(short_of_released(std::vector{knows(over(40), 38), over(20)}), std::nullopt) << "it ended before the other";
  Manifest manifest;
  manifest.generations = {{.number = 1, .first_epoch = 1, .cut = 20, .durable = 20, .released = 17}};
  EXPECT_EQ(state_of(manifest, {0, false}, 21, 0).released, 17u);
  manifest.checkpoint = {.epoch = 19, .directory = "checkpoint-1"};
  EXPECT_EQ(state_of(manifest, {0, false}, 21, 0).released, 18u);
  EXPECT_EQ(state_of(manifest, {0, false}, 21, 19).released, 19u) << "of the log";
  EXPECT_EQ(log_state_of(to_text(lost[0]))->released, 38u);
}

TEST(ClusterCut, StatesGoFromNodeToNodeAsText) {
  for (const NodeLogState& state : {NodeLogState{}, over(20), over(20, true), running(5, true), running(0, false)}) {
    const auto read = log_state_of(to_text(state));
    ASSERT_TRUE(read.ok()) << to_text(state);
    EXPECT_EQ(*read, state);
  }
  const std::string text = to_text(running(5, true));
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) EXPECT_FALSE(log_state_of(text.substr(0, bytes)).ok());
  for (const char* other :
       {"null", "[]", R"({"over":-1,"first_epoch":1})", R"({"over":1})", R"({"over":1,"first_epoch":1,"durable":1})",
        R"({"over":1,"first_epoch":99999999999999999999})", R"({"over":1,"first_epoch":1,"agreed":"1"})"}) {
    EXPECT_FALSE(log_state_of(other).ok()) << other;
  }
}

}  // namespace
}  // namespace granary::recovery
