// A member that cannot reach the board: its fence shuts by the time, not by a message, and opens again. With time and
// reach told by the test.

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
  EXPECT_EQ(member_->fence().version(), Fence::kClosed);
  EXPECT_EQ(lost_, 1);
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
  const std::uint64_t noted = member_->fence().version();
  ASSERT_TRUE(member_->serve().ok());
  EXPECT_FALSE(member_->fence().open_at(noted, 0)) << "before any step";
  EXPECT_EQ(member_->fence().version(), member_->configuration()->version);
}

TEST_F(Fenced, WhoNotesNothingMayNotCommit) { EXPECT_FALSE(member_->fence().open(Fence::kClosed)); }

TEST_F(Fenced, TheClockIsReadIfThereIsAnEnd) {
  const std::uint64_t version = member_->configuration()->version;
  EXPECT_FALSE(member_->fence().open(version)) << "the machine has run for more than a millisecond";
  place_->set_valid_until(lifetime_us() + 60'000'000);
  member_->step(0);
  EXPECT_TRUE(member_->fence().open(version));
  place_->set_valid_until(kForever);
  member_->step(0);
  EXPECT_TRUE(member_->fence().open(version));
}

}  // namespace
}  // namespace granary::membership::tests
