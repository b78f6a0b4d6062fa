// What a node says of others that die or stand still, with views and times told by the test.

#include "src/node/peer_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace granary::db {
namespace {

using membership::Member;
using membership::MemberState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Reports : public testing::Test {
 protected:
  Reports() {
    for (membership::NodeId id = 1; id <= 3; ++id)
      configuration_.members.push_back({.id = id, .generation = 4, .state = MemberState::kServing, .address = {}});
    configuration_.leads = 1;
  }
  Member& node(membership::NodeId id) { return *configuration_.find(id); }
  /// The texts of what is told; the notices themselves stay in notices_.
  std::vector<std::string> look(std::uint64_t now_us) {
    notices_ = reports_.look({.configuration = configuration_,
                              .epoch = epoch_,
                              .durable = durable_,
                              .waits_for = waits_for_,
                              .least_logged = least_logged_,
                              .can_be_recovered = [this](membership::NodeId) { return can_be_recovered_; }},
                             now_us);
    std::vector<std::string> texts;
    for (const Notice& notice : notices_) texts.push_back(notice.text);
    return texts;
  }
  void expect_told(NoticeSeverity severity, std::optional<membership::NodeId> node) {
    ASSERT_EQ(notices_.size(), 1u);
    EXPECT_EQ(notices_[0].topic, NoticeTopic::kPeers);
    EXPECT_EQ(notices_[0].severity, severity);
    EXPECT_EQ(notices_[0].node, node);
    EXPECT_EQ(notices_[0].epoch, epoch_);
  }

  membership::Configuration configuration_;
  epoch::Epoch epoch_ = 10;
  epoch::Epoch durable_ = 7;
  std::optional<membership::NodeId> waits_for_, least_logged_;
  bool can_be_recovered_ = true;
  std::vector<Notice> notices_;
  PeerReports reports_{2, true, 1'000'000};
};

TEST_F(Reports, ADeathIsToldOnceWithWhatItMeans) {
  EXPECT_THAT(look(0), IsEmpty());
  EXPECT_EQ(reports_.obstacle(0), "");
  node(3).state = MemberState::kDead;
  configuration_.owed = {{.node = 3, .generation = 4, .number = 9}};
  EXPECT_THAT(look(100'000),
              ElementsAre(AllOf(HasSubstr("node 3 (generation 4) has just been found dead"),
                                HasSubstr("No result is released (D stays 7)"), HasSubstr("Start it again"))));
  expect_told(NoticeSeverity::kError, 3);
  EXPECT_THAT(look(200'000), IsEmpty());
  EXPECT_THAT(reports_.obstacle(2'100'000),
              AllOf(HasSubstr("node 3 (generation 4) has been dead for 2.0 s"),
                    HasSubstr("waits for a node that can recover it"), HasSubstr("nothing is released")));
  configuration_.owed[0].claimed_by = 1;
  configuration_.owed[0].claimed_generation = 4;
  configuration_.owed[0].phase = membership::RecoveryPhase::kSettling;
  EXPECT_THAT(look(210'000), IsEmpty());
  EXPECT_THAT(reports_.obstacle(210'000), HasSubstr("node 1 is recovering it (settling)"));
  configuration_.owed.clear();
  EXPECT_THAT(look(220'000), ElementsAre(AllOf(HasSubstr("node 3 (generation 4)"), HasSubstr("is recovered, 0.1 s"))));
  expect_told(NoticeSeverity::kInfo, 3);
  EXPECT_EQ(reports_.obstacle(220'000), "");
  node(3).generation = 5;
  node(3).state = MemberState::kServing;
  epoch_ = 11;
  EXPECT_THAT(look(300'000), ElementsAre(HasSubstr("node 3 is back: generation 5")));
  expect_told(NoticeSeverity::kInfo, 3);
  EXPECT_EQ(reports_.obstacle(300'000), "");
}

/// Nobody sees them with "directories = apart", nor those of a node that is alone on its host.
TEST_F(Reports, ADeadNodeWhoseDirectoriesNobodySeesHasToBeStarted) {
  can_be_recovered_ = false;
  EXPECT_THAT(look(0), IsEmpty());
  node(3).state = MemberState::kDead;
  configuration_.owed = {{.node = 3, .generation = 4, .number = 9}};
  EXPECT_THAT(look(100'000),
              ElementsAre(AllOf(HasSubstr("No result is released (D stays 7) until it is started again"),
                                HasSubstr("it recovers itself"), Not(HasSubstr("which a node on its")))));
}

/// Nobody can know there what the dead node had under way.
TEST(ReportsWithoutLogs, ADeathNeedsAnEndOfAll) {
  membership::Configuration configuration;
  for (membership::NodeId id = 1; id <= 2; ++id)
    configuration.members.push_back({.id = id, .generation = 1, .state = MemberState::kServing, .address = {}});
  PeerReports reports(1, false, 1'000'000);
  EXPECT_TRUE(reports.look({.configuration = configuration}, 0).empty());
  configuration.members[1].state = MemberState::kDead;
  configuration.owed = {{.node = 2, .generation = 1, .number = 3}};
  const std::vector<Notice> notices = reports.look({.configuration = configuration}, 100);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_THAT(notices[0].text, HasSubstr("End all nodes, then start all of them"));
  EXPECT_EQ(reports.obstacle(100), "");
}

TEST_F(Reports, WhoLeavesInOrderIsNoWord) {
  EXPECT_THAT(look(0), IsEmpty());
  node(3).state = MemberState::kLeft;
  EXPECT_THAT(look(100'000), IsEmpty());
  EXPECT_EQ(reports_.obstacle(100'000), "");
}

TEST_F(Reports, AnEpochThatStandsStillIsToldWithItsHolderAndItsEnd) {
  waits_for_ = 3;
  for (std::uint64_t now = 0; now < 1'000'000; now += 250'000) EXPECT_THAT(look(now), IsEmpty()) << now;
  EXPECT_THAT(look(1'000'000), ElementsAre(AllOf(HasSubstr("stood still at 10 for 1.0 s"),
                                                 HasSubstr("node 3 (generation 4) holds it back"))));
  expect_told(NoticeSeverity::kError, 3);
  EXPECT_THAT(look(1'250'000), IsEmpty());
  EXPECT_THAT(reports_.obstacle(1'250'000), HasSubstr("node 3 (generation 4)"));
  epoch_ = 11;
  EXPECT_THAT(look(1'500'000), ElementsAre(HasSubstr("goes on, with 11, after 1.5 s")));
  expect_told(NoticeSeverity::kInfo, std::nullopt);
  EXPECT_EQ(reports_.obstacle(1'500'000), "");
}

TEST_F(Reports, WithoutTheLeadersKnowledgeTheLeaderIsNamed) {
  for (std::uint64_t now = 0; now < 1'000'000; now += 250'000) EXPECT_THAT(look(now), IsEmpty()) << now;
  EXPECT_THAT(look(1'000'000), ElementsAre(HasSubstr("node 1 (generation 4), which advances it")));
}

/// Of a process that was stopped itself, E has stood still for its own eyes only.
TEST_F(Reports, ANodeThatStoodStillItselfCountsFromAnew) {
  EXPECT_THAT(look(0), IsEmpty());
  EXPECT_THAT(look(5'000'000), IsEmpty());
  EXPECT_THAT(look(5'400'000), IsEmpty());
}

/// The node whose log has failed lives on, and its own program may not have asked.
TEST_F(Reports, ALogThatDoesNotGetOnIsToldWhileTheEpochGoesOn) {
  const auto go_on = [this](std::uint64_t from_us, std::uint64_t to_us) {
    std::vector<std::string> told;
    for (std::uint64_t at = from_us; at <= to_us; at += 100'000) {
      ++epoch_;
      for (std::string& text : look(at)) told.push_back(std::move(text));
    }
    return told;
  };
  constexpr std::uint64_t kSecond_us = 1'000'000;
  EXPECT_THAT(go_on(0, kSecond_us / 2), IsEmpty());
  EXPECT_EQ(reports_.obstacle(kSecond_us / 2), "");
  EXPECT_THAT(go_on(kSecond_us / 2, 3 * kSecond_us), IsEmpty()) << "a disk may take its time";
  EXPECT_THAT(reports_.obstacle(3 * kSecond_us), AllOf(HasSubstr("nothing has been released for"),
                                                       HasSubstr("node 1 (generation 4), which leads, says whose")));
  configuration_.leads = 2;  // this node
  least_logged_ = 3;
  EXPECT_THAT(go_on(3 * kSecond_us, 10 * kSecond_us),
              ElementsAre(AllOf(HasSubstr("no result has been released for"), HasSubstr("(D stays 7)"),
                                HasSubstr("the log of node 3 (generation 4) does not get on"))));
  EXPECT_THAT(reports_.obstacle(10 * kSecond_us), HasSubstr("the log of node 3"));
  durable_ = epoch_ - 2;
  EXPECT_THAT(look(10 * kSecond_us + 100'000), ElementsAre(HasSubstr("results are released again, after ")));
  EXPECT_EQ(reports_.obstacle(11 * kSecond_us), "");
}

}  // namespace
}  // namespace granary::db
