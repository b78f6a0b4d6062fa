// A member that cannot reach the board: its fence shuts by the time, not by a message, and opens again. With time and
// reach told by the test.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_config/membership/memory_board.h"
#include "cluster_config/membership/membership.h"
#include "tests/cluster_config/membership/world.h"

namespace granary::membership::tests {
namespace {

class Fenced : public testing::Test {
 protected:
  void SetUp() override {
    place_->set_valid_until(1000);
    Result<std::unique_ptr<Membership>> joined =
        Membership::join(std::make_unique<MemoryBoard>(place_), options_of(3), listener());
    ASSERT_TRUE(joined.ok()) << joined.status().message();
    member_ = std::move(*joined);
    member_->step(0);
  }
  bool open_at(std::uint64_t now_us) { return member_->fence().open_at(member_->configuration()->version, now_us); }

  const std::shared_ptr<MemoryPlace> place_ = std::make_shared<MemoryPlace>();
  std::unique_ptr<Membership> member_;
  int lost_ = 0;

 private:
  Membership::Listener listener() {
    Membership::Listener listener;
    listener.lost = [this](const Status&) { ++lost_; };
    return listener;
  }
};

TEST_F(Fenced, IsOpenUntilItsTimeIsUp) {
  EXPECT_TRUE(open_at(999));
  EXPECT_FALSE(open_at(1000));
  place_->set_valid_until(2000);
  EXPECT_FALSE(open_at(1000)) << "the member has not heard of it";
  member_->step(0);
  EXPECT_TRUE(open_at(1999));
  EXPECT_FALSE(open_at(2000));
}

TEST_F(Fenced, NoReachIsNoLoss) {
  place_->set_reachable(false);
  place_->set_valid_until(2000);
  for (int turn = 0; turn < 10; ++turn) member_->step(0);
  EXPECT_TRUE(open_at(999));
  EXPECT_FALSE(open_at(1000));
  EXPECT_TRUE(member_->status().ok());
  EXPECT_EQ(member_->serve().code(), StatusCode::kUnavailable);
  place_->set_reachable(true);
  member_->step(0);
  EXPECT_TRUE(open_at(1000));
  EXPECT_EQ(lost_, 0);
}

TEST_F(Fenced, ALostMarkClosesItForGood) {
  place_->remove_mark(3);
  EXPECT_TRUE(open_at(500)) << "it has not heard of it, and needs not: its time is not up";
  member_->step(0);
  EXPECT_FALSE(open_at(0));
  EXPECT_EQ(member_->status().code(), StatusCode::kMembershipLost);
  EXPECT_EQ(member_->status().message(), "lost membership at generation 1: its mark is gone from the board in memory");
  EXPECT_EQ(lost_, 1);
  member_->step(0);
  EXPECT_EQ(member_->fence().number(), Fence::kClosed);
  EXPECT_EQ(lost_, 1);
}

/// Whoever misses the mark cannot know when the fence was extended for the last time; but that was before the mark
/// went.
TEST_F(Fenced, NobodyIsDeadBeforeItsFenceHasShut) {
  constexpr std::uint64_t kLasts_us = 200'000;
  const Result<std::unique_ptr<Membership>> other =
      Membership::join(std::make_unique<MemoryBoard>(place_), options_of(4), {});
  ASSERT_TRUE(other.ok()) << other.status().message();
  place_->set_fence_lasts(kLasts_us);
  const std::uint64_t gone_us = lifetime_us();
  place_->remove_mark(3);
  const std::uint64_t end = gone_us + kPatienceUs;
  while ((*other)->configuration()->lives(3) && lifetime_us() < end) (*other)->step(1000);
  EXPECT_FALSE((*other)->configuration()->lives(3));
  EXPECT_GE(lifetime_us() - gone_us, kLasts_us);
}

TEST_F(Fenced, ALaterLifeWaitsUntilTheFenceOfTheEarlierOneHasShut) {
  constexpr std::uint64_t kLasts_us = 200'000;
  place_->set_fence_lasts(kLasts_us);
  const std::uint64_t gone_us = lifetime_us();
  place_->remove_mark(3);
  const Result<std::unique_ptr<Membership>> later =
      Membership::join(std::make_unique<MemoryBoard>(place_), options_of(3), {});
  ASSERT_TRUE(later.ok()) << later.status().message();
  EXPECT_GE(lifetime_us() - gone_us, kLasts_us);
}

/// A member that serves and has lost its mark may have committed alone. Others that begin together must know that its
/// life is over, since a directory that is in use by a life which goes on is taken for one with nothing new in it.
TEST_F(Fenced, NobodyBeginsTogetherBesideALifeThatMayStillServe) {
  constexpr std::uint64_t kLasts_us = 200'000;
  ASSERT_TRUE(member_->serve().ok());
  place_->set_fence_lasts(kLasts_us);
  const std::uint64_t gone_us = lifetime_us();
  place_->remove_mark(3);
  MembershipOptions together = options_of(4);
  together.together_us = 0;
  together.rejoins_us = kPatienceUs;
  const Result<std::unique_ptr<Membership>> other =
      Membership::join(std::make_unique<MemoryBoard>(place_), together, {});
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_FALSE((*other)->rejoined());
  EXPECT_EQ((*other)->configuration()->find(3)->state, MemberState::kDead);
  EXPECT_TRUE((*other)->configuration()->owes(3));
  EXPECT_GE(lifetime_us() - gone_us, kLasts_us);
}

/// Whoever looks after the node learns that it does nothing, and why, and when that is over.
TEST_F(Fenced, ASilentBoardIsSpokenOf) {
  std::vector<std::string> warnings;
  Membership::Listener listener;
  listener.warn = [&](const std::string& warning) { warnings.push_back(warning); };
  const Result<std::unique_ptr<Membership>> joined =
      Membership::join(std::make_unique<MemoryBoard>(place_), options_of(5), listener);
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  (*joined)->step(0);
  place_->set_reachable(false);
  for (int turn = 0; turn < 3; ++turn) (*joined)->step(0);
  ASSERT_EQ(warnings.size(), 1u) << "at once, and not in every turn";
  EXPECT_NE(warnings[0].find("the board in memory has not been heard from"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("Node 5 commits nothing until it is"), std::string::npos) << warnings[0];
  place_->set_reachable(true);
  for (int turn = 0; turn < 3; ++turn) (*joined)->step(0);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[1].find("answers again after"), std::string::npos) << warnings[1];
}

TEST_F(Fenced, ALaterLifeEndsAnEarlierOne) {
  place_->remove_mark(3);
  const Result<std::unique_ptr<Membership>> later =
      Membership::join(std::make_unique<MemoryBoard>(place_), options_of(3), {});
  ASSERT_TRUE(later.ok()) << later.status().message();
  EXPECT_EQ((*later)->generation(), 2u);
  member_->step(0);
  EXPECT_EQ(member_->status().code(), StatusCode::kMembershipLost);
  (*later)->step(0);
  EXPECT_TRUE((*later)->status().ok());
}

TEST_F(Fenced, MovesAtOnceWithAChangeOfItsOwn) {
  const Result<std::unique_ptr<Membership>> other =
      Membership::join(std::make_unique<MemoryBoard>(place_), options_of(4), {});
  ASSERT_TRUE(other.ok()) << other.status().message();
  member_->step(0);
  const std::uint64_t noted = member_->fence().number();
  std::vector<Member> members = member_->configuration()->members;
  members.back().state = MemberState::kDead;
  ASSERT_TRUE(member_->change(member_->configuration()->version, members).ok());
  EXPECT_FALSE(member_->fence().open_at(noted, 0)) << "before any step";
  EXPECT_EQ(member_->fence().number(), member_->configuration()->number);
}

/// Each of these would else abort all transactions that are under way (R8).
TEST_F(Fenced, StaysWhereItIsWhenNoLifeBeginsOrEnds) {
  const std::uint64_t noted = member_->fence().number();
  const std::uint64_t version = member_->configuration()->version;
  ASSERT_TRUE(member_->say("a note").ok());
  ASSERT_TRUE(member_->be_ready().ok());
  ASSERT_TRUE(member_->serve().ok());
  ASSERT_TRUE(member_->be_quiet({.number = noted, .epoch = 7}).ok());
  EXPECT_EQ(member_->configuration()->version, version + 4);
  EXPECT_TRUE(member_->fence().open_at(noted, 0));
}

TEST_F(Fenced, WhoNotesNothingMayNotCommit) { EXPECT_FALSE(member_->fence().open(Fence::kClosed)); }

TEST_F(Fenced, TheClockIsReadIfThereIsAnEnd) {
  const std::uint64_t noted = member_->configuration()->number;
  EXPECT_FALSE(member_->fence().open(noted)) << "the machine has run for more than a millisecond";
  place_->set_valid_until(lifetime_us() + 60'000'000);
  member_->step(0);
  EXPECT_TRUE(member_->fence().open(noted));
  place_->set_valid_until(kForever);
  member_->step(0);
  EXPECT_TRUE(member_->fence().open(noted));
}

}  // namespace
}  // namespace granary::membership::tests
