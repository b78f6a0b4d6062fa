// Who may join, as whom, and who leads. For all kinds of boards.

#include <thread>

#include <gmock/gmock.h>

#include "tests/cluster_config/membership/world.h"

namespace granary::membership::tests {
namespace {

using testing::HasSubstr;

TEST_F(MembershipSuite, MembersSeeEachOther) {
  Node two(world(), 2);
  Node one(world(), 1);
  ASSERT_TRUE(two.sees(1, MemberState::kJoining));
  ASSERT_TRUE(one->serve().ok());
  ASSERT_TRUE(two.sees(1, MemberState::kServing));
  const std::shared_ptr<const Configuration> seen = two->configuration();
  EXPECT_EQ(seen->cluster, "bank");
  EXPECT_EQ(seen->version, 3u);
  EXPECT_EQ(seen->find(1)->address, "127.0.0.1:7001");
  EXPECT_EQ(seen->find(2)->generation, 1u);
  EXPECT_EQ(one->cluster_id(), two->cluster_id());
  EXPECT_NE(one->cluster_id(), 0u);
}

TEST_F(MembershipSuite, TheLowestThatServesLeads) {
  Node two(world(), 2);
  EXPECT_EQ(two->configuration()->leader()->id, 2) << "nobody serves, so who joins may lead";
  ASSERT_TRUE(two->serve().ok());
  Node one(world(), 1);
  ASSERT_TRUE(two.sees(1, MemberState::kJoining));
  EXPECT_EQ(two->configuration()->leader()->id, 2) << "1 does not serve yet";
  ASSERT_TRUE(one->serve().ok());
  ASSERT_TRUE(two.sees(1, MemberState::kServing));
  EXPECT_EQ(two->configuration()->leader()->id, 2) << "no life has begun or ended since";
  Node three(world(), 3);
  ASSERT_TRUE(two.sees(3, MemberState::kJoining));
  EXPECT_EQ(two->configuration()->leader()->id, 1);
  ASSERT_TRUE(one->leave().ok());
  ASSERT_TRUE(two.sees(1, MemberState::kLeft));
  EXPECT_EQ(two->configuration()->leader()->id, 2);
}

TEST_F(MembershipSuite, EachLifeHasAGreaterGeneration) {
  {
    Node first(world(), 0);
    EXPECT_EQ(first->generation(), 1u);
    ASSERT_TRUE(first->leave().ok());
  }
  { EXPECT_EQ(Node(world(), 0)->generation(), 2u) << "after a life that ended in order"; }
  EXPECT_EQ(Node(world(), 0)->generation(), 3u) << "after one that did not";
  MembershipOptions options = options_of(0);
  options.lowest_generation = 9;
  EXPECT_EQ(Node(world(), options)->generation(), 9u) << "the node's data tells of generation 8";
}

TEST_F(MembershipSuite, AnOlderCopyOfANodesDataIsRefused) {
  MembershipOptions older = options_of(0);
  older.finds_data = true;
  for (const Generation life : {1u, 2u}) {
    Node node(world(), older);
    ASSERT_TRUE(node.joined()) << node.status().message();
    EXPECT_EQ(node->generation(), life);
    ASSERT_TRUE(node->leave().ok());
  }
  { EXPECT_EQ(Node(world(), 0)->generation(), 3u) << "without data, and so none of theirs"; }
  older.data_generation = 1;
  older.lowest_generation = 2;
  older.data_place = "/srv/copy";
  {
    Node node(world(), older);
    ASSERT_FALSE(node.joined());
    EXPECT_EQ(node.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(node.status().message(), HasSubstr("the data of node 0 in '/srv/copy' are of its life 1, but by "));
    EXPECT_THAT(node.status().message(), HasSubstr("it has had life 2 since"));
  }
  older.accepts_older_data = true;
  {
    Node node(world(), older);
    ASSERT_TRUE(node.joined()) << node.status().message();
    EXPECT_EQ(node->generation(), 4u) << "it was told to go on";
    ASSERT_TRUE(node->leave().ok());
  }
  MembershipOptions newest = options_of(0);
  newest.data_generation = 4;
  newest.lowest_generation = 5;
  EXPECT_EQ(Node(world(), newest)->generation(), 5u);
}

/// Of one that comes back to others. It is refused before it is counted.
TEST_F(MembershipSuite, ANodeWhoseDataAreGoneIsRefused) {
  MembershipOptions options = options_of(0);
  options.data_place = "/srv/data";
  options.rejoins_us = 1'000'000;
  {
    Node first(world(), options);
    ASSERT_TRUE(first.joined()) << first.status().message();
    ASSERT_TRUE(first->serve().ok());
    ASSERT_TRUE(first->leave().ok());
  }
  Node other(world(), 1);
  {
    Node all_anew(world(), options);
    ASSERT_TRUE(all_anew.joined()) << "nobody serves: " << all_anew.status().message();
    ASSERT_TRUE(all_anew->leave().ok());
  }
  ASSERT_TRUE(other->serve().ok());
  for (int tries = 0; tries < 2; ++tries) {
    Node node(world(), options);
    ASSERT_FALSE(node.joined());
    EXPECT_EQ(node.status().code(), StatusCode::kDamaged);
    EXPECT_THAT(node.status().message(), HasSubstr("'/srv/data' holds no data, but the cluster has served with some"));
  }
  options.finds_data = true;
  options.data_generation = 1;
  options.lowest_generation = 2;
  Node back(world(), options);
  ASSERT_TRUE(back.joined()) << back.status().message();
  EXPECT_EQ(back->generation(), 3u) << "the life in between left the data alone";
}

/// A life that comes to nothing after it was noted leaves data that seem newer than the configuration, and are the
/// node's own.
TEST_F(MembershipSuite, ALifeIsNotedBeforeAnybodyLearnsOfIt) {
  Node other(world(), 5);
  MembershipOptions options = options_of(0);
  Generation noted = 0;
  options.note_life = [&](Generation generation) {
    noted = generation;
    EXPECT_EQ(other->configuration()->find(0), nullptr);
    return Status(StatusCode::kIoError, "the disk has failed");
  };
  {
    Node node(world(), options);
    ASSERT_FALSE(node.joined());
    EXPECT_EQ(node.status().code(), StatusCode::kIoError);
  }
  EXPECT_EQ(noted, 1u);
  options = options_of(0);
  options.data_generation = noted;
  options.lowest_generation = noted + 1;
  EXPECT_EQ(Node(world(), options)->generation(), 2u);
}

TEST_F(MembershipSuite, ANodeIsAMemberOnce) {
  Node first(world(), 4);
  Node second(world(), options_of(4));
  ASSERT_FALSE(second.joined());
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(), HasSubstr("node 4 is a member already"));
  EXPECT_THAT(second.status().message(), HasSubstr("127.0.0.1:7004"));
  EXPECT_EQ(first->configuration()->find(4)->generation, 1u);
}

TEST_F(MembershipSuite, AnotherFingerprintIsRefusedWhileMembersLive) {
  MembershipOptions other = options_of(1);
  other.fingerprint = 0xabcd;
  {
    Node first(world(), 0);
    Node second(world(), other);
    ASSERT_FALSE(second.joined());
    EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(second.status().message(), HasSubstr("000000000000abcd"));
    EXPECT_THAT(second.status().message(), HasSubstr("0000000000001234"));
    EXPECT_EQ(first->configuration()->find(1), nullptr);
    ASSERT_TRUE(first->leave().ok());
  }
  Node alone(world(), other);
  ASSERT_TRUE(alone.joined()) << alone.status().message();
  EXPECT_EQ(alone->configuration()->fingerprint, 0xabcdu);
}

TEST_F(MembershipSuite, AnotherProtocolIsRefusedAndBothReleasesAreNamed) {
  MembershipOptions first_options = options_of(0), other = options_of(1);
  first_options.protocol = 0x11;
  first_options.release = "0.1.0 (commit abc, release)";
  other.protocol = 0x12;
  other.release = "0.2.0 (commit def, debug)";
  other.fingerprint = 0xabcd;
  {
    Node first(world(), first_options);
    ASSERT_TRUE(first.joined());
    EXPECT_EQ(first->configuration()->find(0)->release, first_options.release);
    Node second(world(), other);
    ASSERT_FALSE(second.joined());
    EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(second.status().message(),
                HasSubstr("node 1 is granary 0.2.0 (commit def, debug) (protocol 0000000000000012), node 0 "
                          "(127.0.0.1:7000), which runs, is granary 0.1.0 (commit abc, release) (protocol "
                          "0000000000000011): run the same Granary on all nodes"));
    EXPECT_EQ(first->configuration()->find(1), nullptr);
    MembershipOptions newer = options_of(2);
    newer.protocol = first_options.protocol;
    newer.release = "0.1.1";
    EXPECT_TRUE(Node(world(), newer).joined()) << "releases may differ whose protocol does not";
    ASSERT_TRUE(first->leave().ok());
  }
  EXPECT_TRUE(Node(world(), other).joined()) << "nobody runs any more";
}

TEST_F(MembershipSuite, AMemberThatTellsNoProtocolIsOfAnOlderRelease) {
  Node first(world(), 0);
  MembershipOptions newer = options_of(1);
  newer.protocol = 0x11;
  Node second(world(), newer);
  ASSERT_FALSE(second.joined());
  EXPECT_THAT(second.status().message(), HasSubstr("which runs, is granary of an older release"));
}

TEST_F(MembershipSuite, AnotherClusterIsRefused) {
  Node first(world(), 0);
  MembershipOptions named = options_of(1);
  named.cluster = "shop";
  Node second(world(), named);
  ASSERT_FALSE(second.joined());
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(second.status().message(), testing::AllOf(HasSubstr("'bank'"), HasSubstr("'shop'")));

  MembershipOptions known = options_of(1);
  known.known_cluster_id = first->cluster_id() + 1;
  Node third(world(), known);
  ASSERT_FALSE(third.joined());
  EXPECT_EQ(third.status().code(), StatusCode::kFailedPrecondition);

  known.known_cluster_id = first->cluster_id();
  EXPECT_TRUE(Node(world(), known).joined());
}

TEST_F(MembershipSuite, AWipedBoardIsRefusedByWhoKnowsTheCluster) {
  MembershipOptions known = options_of(1);
  known.known_cluster_id = 77;
  Node node(world(), known);
  ASSERT_FALSE(node.joined());
  EXPECT_EQ(node.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(node.status().message(), HasSubstr("wiped"));
  EXPECT_THAT(node.status().message(), HasSubstr("000000000000004d"));
}

TEST_F(MembershipSuite, ImpossibleNodesAreRefused) {
  MembershipOptions options = options_of(0);
  options.node = kMostMembers;
  EXPECT_EQ(Node(world(), options).status().code(), StatusCode::kInvalidArgument);
  options = options_of(0);
  options.address.assign(kMostAddressBytes + 1, 'x');
  EXPECT_EQ(Node(world(), options).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(MembershipSuite, WhoseMembersBeginTogetherLetsNobodyInLater) {
  MembershipOptions late = options_of(1);
  late.together_us = 0;
  Node zero(world(), 0);
  { EXPECT_TRUE(Node(world(), late).joined()) << "nobody serves yet"; }
  ASSERT_TRUE(zero->serve().ok());
  const std::uint64_t version = zero->configuration()->version;
  Node refused(world(), late);
  ASSERT_FALSE(refused.joined());
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable) << "it may try again when they have ended";
  EXPECT_THAT(refused.status().message(), HasSubstr("node 0 (127.0.0.1:7000) serves"));
  EXPECT_THAT(refused.status().message(), HasSubstr("start all of them"));
  EXPECT_LE(zero->configuration()->version, version + 1) << "nobody was disturbed, but by the end of the earlier life";

  late.together_us = kPatienceUs;
  std::thread leaving([&] { EXPECT_TRUE(zero->leave().ok()); });
  EXPECT_TRUE(Node(world(), late).joined()) << "it waits for who is about to leave";
  leaving.join();
}

/// Where the board has lost its data for good, the nodes of a cluster go on with theirs, and no others do there.
TEST_F(MembershipSuite, NodesThatAreToldSoGoOnAtABoardThatWasWiped) {
  MembershipOptions first = options_of(1), second = options_of(2), stranger = options_of(3);
  first.known_cluster_id = second.known_cluster_id = 77;
  stranger.known_cluster_id = 78;
  {
    Node refused(world(), first);
    EXPECT_THAT(refused.status().message(), HasSubstr("start all nodes with --new_board"));
  }
  first.accepts_new_board = stranger.accepts_new_board = true;
  Node one(world(), first);
  ASSERT_TRUE(one.joined()) << one.status().message();
  EXPECT_NE(one->cluster_id(), 77u);
  {
    Node untold(world(), second);
    EXPECT_THAT(untold.status().message(), HasSubstr("--new_board does the same here"));
    Node other(world(), stranger);
    EXPECT_EQ(other.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(other.status().message(), HasSubstr("belongs to one with the id 000000000000004e"));
  }
  second.accepts_new_board = true;
  Node two(world(), second);
  ASSERT_TRUE(two.joined()) << two.status().message();
  EXPECT_EQ(two->cluster_id(), one->cluster_id());
}

/// Its data name the former cluster until they have served at the new board (NodeLife).
TEST_F(MembershipSuite, ANodeThatHasNotServedAtTheNewBoardComesAgain) {
  MembershipOptions first = options_of(1), second = options_of(2);
  first.known_cluster_id = second.known_cluster_id = 77;
  first.accepts_new_board = second.accepts_new_board = true;
  Node one(world(), first);
  ASSERT_TRUE(one.joined()) << one.status().message();
  { EXPECT_TRUE(Node(world(), second).joined()); }
  ASSERT_TRUE(one->serve().ok());
  {
    Node again(world(), second);
    ASSERT_TRUE(again.joined()) << again.status().message();
    EXPECT_EQ(again->cluster_id(), one->cluster_id());
  }
  second.accepts_new_board = false;
  Node untold(world(), second);
  ASSERT_FALSE(untold.joined());
  EXPECT_THAT(untold.status().message(), HasSubstr("--new_board does the same here"));
}

/// Its data are newer than those of the cluster that begins, which has none yet.
TEST_F(MembershipSuite, ANodeWithoutDataMayBeginTheNewBoard) {
  MembershipOptions first = options_of(1), second = options_of(2), late = options_of(3);
  second.known_cluster_id = 77;
  late.known_cluster_id = 78;
  second.accepts_new_board = late.accepts_new_board = true;
  first.data_place = "/srv/data";
  Node one(world(), first);
  Node two(world(), second);
  ASSERT_TRUE(one.joined() && two.joined()) << two.status().message();
  EXPECT_EQ(two->cluster_id(), one->cluster_id());
  ASSERT_TRUE(one->serve().ok());
  EXPECT_FALSE(Node(world(), late).joined());
}

}  // namespace
}  // namespace granary::membership::tests
