// A node ends while its board does not answer: it goes on to tell the others for as long as its process lives, since
// its mark lives as long. Not covered: marks of ZooKeeper (zookeeper_test.cc).

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_config/membership/membership.h"
#include "cluster_config/membership/memory_board.h"

namespace granary::membership {
namespace {

class UntoldEnd : public testing::Test {
 protected:
  std::unique_ptr<Membership> join(NodeId node) {
    MembershipOptions options{.node = node, .cluster = "bank", .address = "127.0.0.1:7001"};
    auto member = Membership::join(std::make_unique<MemoryBoard>(place_), std::move(options), {}).value();
    EXPECT_TRUE(member->serve().ok());
    return member;
  }
  Member seen_of_one() {
    two_->step(0);
    return *two_->configuration()->find(1);
  }
  bool is_marked() {
    const Marks marks = MemoryBoard(place_).marks().value();
    return std::ranges::find(marks.nodes, NodeId{1}) != marks.nodes.end();
  }
  /// Expects that the end, which the others could not be told of, is told by the first step after the board answers.
  void expect_told_later(const Status& ended, MemberState state) {
    EXPECT_EQ(ended.code(), StatusCode::kUnavailable) << ended.message();
    one_->step(0);
    EXPECT_FALSE(one_->has_told_end());
    place_->set_reachable(true);
    EXPECT_EQ(seen_of_one().state, MemberState::kServing);
    EXPECT_TRUE(is_marked());
    one_->step(0);
    EXPECT_TRUE(one_->has_told_end());
    EXPECT_EQ(seen_of_one().state, state);
    EXPECT_FALSE(is_marked());
  }

  const std::shared_ptr<MemoryPlace> place_ = std::make_shared<MemoryPlace>();
  std::unique_ptr<Membership> one_ = join(1), two_ = join(2);
};

TEST_F(UntoldEnd, OfANodeThatGaveUpIsToldWhenTheBoardAnswers) {
  place_->set_reachable(false);
  expect_told_later(one_->die("its log has failed"), MemberState::kDead);
}

TEST_F(UntoldEnd, OfANodeThatLeftIsToldWhenTheBoardAnswers) {
  place_->set_reachable(false);
  expect_told_later(one_->leave(), MemberState::kLeft);
  EXPECT_FALSE(two_->configuration()->owes(1)) << "it has left in order, however late the others hear of it";
}

/// An end that cannot be told for another reason than a board that does not answer. Nobody tries again. So the mark
/// goes at once, and the others count the node as dead.
class UntellableEnd : public UntoldEnd {
 protected:
  void expect_no_mark(const Status& ended, StatusCode why) {
    EXPECT_EQ(ended.code(), why) << ended.message();
    EXPECT_TRUE(one_->has_told_end());
    EXPECT_FALSE(is_marked()) << "the others take it for one that lives";
  }
  void expect_dead_for_others() {
    place_->set_full(false);
    EXPECT_EQ(seen_of_one().state, MemberState::kDead);
  }
};

TEST_F(UntellableEnd, OfANodeThatLeavesAFullBoardIsSeenByItsMark) {
  place_->set_full(true);
  expect_no_mark(one_->leave(), StatusCode::kDiskFull);
  expect_dead_for_others();
}

TEST_F(UntellableEnd, OfANodeThatOwesSomethingIsSeenByItsMark) {
  place_->set_full(true);
  expect_no_mark(one_->die(), StatusCode::kDiskFull);
  expect_dead_for_others();
}

TEST_F(UntellableEnd, OfANodeThatGivesUpIsSeenByItsMark) {
  place_->set_full(true);
  expect_no_mark(one_->die("its log has failed"), StatusCode::kDiskFull);
  expect_dead_for_others();
}

TEST_F(UntellableEnd, OfANodeThatOthersCountAsDeadLeavesNoMark) {
  const auto now = two_->configuration();
  std::vector<Member> members = now->members;
  members[0].state = MemberState::kDead;
  const Status changed = two_->change(now->version, members);
  ASSERT_TRUE(changed.ok()) << changed.message();
  expect_no_mark(one_->leave(), StatusCode::kMembershipLost);
}

/// Others counted the node as dead, and its next life has begun, before it could tell them anything.
TEST_F(UntoldEnd, IsNotToldOfTheNextLife) {
  place_->set_reachable(false);
  EXPECT_FALSE(one_->die("its log has failed").ok());
  place_->set_reachable(true);
  place_->remove_mark(1);
  EXPECT_EQ(seen_of_one().state, MemberState::kDead);
  MembershipOptions options{.node = 1, .cluster = "bank", .address = "127.0.0.1:7001"};
  const auto next = Membership::join(std::make_unique<MemoryBoard>(place_), std::move(options), {}).value();
  one_->step(0);
  EXPECT_TRUE(one_->has_told_end());
  EXPECT_EQ(seen_of_one().generation, 2u);
  EXPECT_TRUE(seen_of_one().live());
  EXPECT_TRUE(is_marked());
}

}  // namespace
}  // namespace granary::membership
