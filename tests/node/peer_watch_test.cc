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
                              .recovering = recovering_,
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
  std::optional<RecoveryUnderWay> recovering_;
  bool can_be_recovered_ = true;
  std::vector<Notice> notices_;
  PeerReports reports_{2, true, 1'000'000};
};

TEST_F(Reports, ARecoveryThatGetsNoFurtherIsToldOnceWithItsDirectory) {
  recovering_ = {.node = 3, .generation = 4, .directory = "/srv/three", .rests_us = 4'900'000};
  EXPECT_THAT(look(0), IsEmpty());
  recovering_->rests_us = 5'000'000;
  EXPECT_THAT(look(100'000),
              ElementsAre(AllOf(HasSubstr("the recovery of node 3 (generation 4) has got no further for 5.0 s"),
                                HasSubstr("the device of '/srv/three' is slow or does not answer"))));
  expect_told(NoticeSeverity::kError, 3);
  recovering_->rests_us = 9'000'000;
  EXPECT_THAT(look(200'000), IsEmpty());
  recovering_->rests_us = 0;
  EXPECT_THAT(look(300'000), ElementsAre("the recovery of node 3 (generation 4) gets further again"));
  recovering_->rests_us = 6'000'000;
  EXPECT_THAT(look(400'000), testing::SizeIs(1));
  recovering_.reset();
  EXPECT_THAT(look(500'000), testing::SizeIs(1)) << "it has ended";
  EXPECT_THAT(look(600'000), IsEmpty());
}

/// Callers that wait, and the document of the node, are told for how long by now.
TEST_F(Reports, ARecoveryThatGetsNoFurtherIsNamedToWhoWaits) {
  EXPECT_THAT(look(0), IsEmpty());
  node(3).state = MemberState::kDead;
  configuration_.owed = {{.node = 3,
                          .generation = 4,
                          .number = 9,
                          .phase = membership::RecoveryPhase::kSettling,
                          .claimed_by = 2,
                          .claimed_generation = 1}};
  recovering_ = {.node = 3, .generation = 4, .directory = "/srv/three", .rests_us = 6'000'000};
  look(100'000);
  EXPECT_THAT(reports_.obstacle(600'000),
              HasSubstr("recovering it (settling, and has waited for the device of '/srv/three' for 6.5 s)"));
  recovering_->rests_us = 60'000'000;
  look(54'100'000);
  EXPECT_THAT(reports_.obstacle(54'100'000), HasSubstr("the device of '/srv/three' for 60.0 s)"));
  recovering_->rests_us = 0;
  look(54'200'000);
  EXPECT_THAT(reports_.obstacle(54'200'000), HasSubstr("recovering it (settling):"));
}

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

/// The debt may have come and gone between two looks, and no later notice would tell so.
TEST_F(Reports, ADeathThatIsRecoveredAlreadyHoldsNothingBack) {
  EXPECT_THAT(look(0), IsEmpty());
  node(3).state = MemberState::kDead;
  EXPECT_THAT(look(100'000), ElementsAre(AllOf(HasSubstr("has just been found dead"), HasSubstr("recovered already"),
                                               HasSubstr("Start it again"), Not(HasSubstr("until")))));
  expect_told(NoticeSeverity::kError, 3);
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

/// The nodes that the file names, of which the last one has never joined, as node 2 sees them. Logs are kept for a node
/// from when it is missed, and that is told after ten minutes.
class LogsKept : public testing::Test {
 protected:
  static constexpr std::uint64_t kSecond_us = 1'000'000;
  static constexpr std::uint64_t kKeeps_us = 600 * kSecond_us;

  LogsKept() {
    for (membership::NodeId id = 1; id <= 3; ++id)
      configuration_.members.push_back({.id = id, .generation = 4, .state = MemberState::kServing, .address = {}});
    configuration_.leads = 1;
  }
  Member& node(membership::NodeId id) { return *configuration_.find(id); }
  /// E and D go on.
  std::vector<Notice> look(PeerReports& reports, std::uint64_t now_us) {
    ++epoch_;
    return reports.look({.configuration = configuration_, .nodes = nodes_, .epoch = epoch_, .durable = epoch_}, now_us);
  }

  std::vector<membership::NodeId> nodes_{1, 2, 3};
  membership::Configuration configuration_;
  epoch::Epoch epoch_ = 10;
};

TEST_F(LogsKept, IsToldOnceAndWhenItIsOver) {
  PeerReports reports(2, true, kSecond_us, kKeeps_us);
  EXPECT_TRUE(look(reports, 0).empty());
  node(3).state = MemberState::kLeft;
  EXPECT_TRUE(look(reports, kSecond_us).empty()) << "a node is ended in order to be started again";
  EXPECT_TRUE(look(reports, kKeeps_us).empty());
  const std::vector<Notice> begins = look(reports, kSecond_us + kKeeps_us);
  ASSERT_EQ(begins.size(), 1u);
  EXPECT_THAT(begins[0].text, HasSubstr("logs are kept for node 3, which does not serve (for 600.0 s by now)"));
  EXPECT_EQ(begins[0].topic, NoticeTopic::kPeers);
  EXPECT_EQ(begins[0].severity, NoticeSeverity::kWarning);
  EXPECT_EQ(begins[0].node, 3);
  node(3) = {.id = 3, .generation = 5, .state = MemberState::kJoining, .address = {}};
  EXPECT_TRUE(look(reports, 2 * kKeeps_us).empty()) << "once, and it does not serve yet";
  node(3).state = MemberState::kServing;
  const std::vector<Notice> ends = look(reports, kSecond_us + 2 * kKeeps_us);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_THAT(ends[0].text, HasSubstr("node 3 serves again, after 1200.0 s"));
  EXPECT_EQ(ends[0].severity, NoticeSeverity::kInfo);
  EXPECT_TRUE(look(reports, 9 * kKeeps_us).empty());
}

TEST_F(LogsKept, EachAbsenceIsCountedByItself) {
  PeerReports reports(2, true, kSecond_us, kKeeps_us);
  for (std::uint64_t now_us = 0; now_us < 4 * kKeeps_us; now_us += kKeeps_us / 2) {
    node(1).state = now_us % kKeeps_us == 0 ? MemberState::kLeft : MemberState::kServing;
    EXPECT_TRUE(look(reports, now_us).empty()) << now_us;
  }
}

TEST_F(LogsKept, ForANodeThatHasNeverJoinedAsWell) {
  nodes_.push_back(4);
  PeerReports reports(2, true, kSecond_us, kKeeps_us);
  EXPECT_TRUE(look(reports, 0).empty());
  const std::vector<Notice> told = look(reports, kKeeps_us);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].node, 4);
}

/// Nor does a node say so of itself while it starts.
TEST_F(LogsKept, IsNoWordWithoutLogsOrCheckpoints) {
  PeerReports without_logs(2, false, kSecond_us, kKeeps_us), without_checkpoints(2, true, kSecond_us, 0),
      own(3, true, kSecond_us, kKeeps_us);
  node(3).state = MemberState::kJoining;
  for (const std::uint64_t now_us : {std::uint64_t{0}, kKeeps_us, 2 * kKeeps_us}) {
    for (PeerReports* const reports : {&without_logs, &without_checkpoints, &own})
      EXPECT_TRUE(look(*reports, now_us).empty()) << now_us;
  }
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
