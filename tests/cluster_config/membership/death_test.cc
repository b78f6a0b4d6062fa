// How a membership ends: in order, by the end of its process (here: of its object), by what others say, or since the
// board was wiped. For all kinds of boards.

#include <atomic>
#include <optional>

#include <gmock/gmock.h>

#include "tests/cluster_config/membership/world.h"

namespace granary::membership::tests {
namespace {

using testing::HasSubstr;

TEST_F(MembershipSuite, WhoLeavesIsGoneInOrder) {
  std::atomic<int> lost{0};
  Membership::Listener listener;
  listener.lost = [&](const Status&) { ++lost; };
  Node zero(world(), options_of(0), listener);
  Node one(world(), 1);
  const std::uint64_t version = zero->fence().number();
  ASSERT_TRUE(zero->leave().ok());
  EXPECT_FALSE(zero->fence().open(version));
  EXPECT_EQ(zero->fence().number(), Fence::kClosed);
  EXPECT_EQ(zero->leave().code(), StatusCode::kMembershipLost) << "one leaves once";
  ASSERT_TRUE(one.sees(0, MemberState::kLeft));
  EXPECT_EQ(lost.load(), 0) << "it is no loss";
}

/// What it had under way is taken over by a life that serves, not by one that only came and went.
TEST_F(MembershipSuite, WhoDiedIsDeadUntilALaterLifeHasServed) {
  Node one(world(), 1);
  const auto ends = [&one](Generation generation, MemberState state) {
    return one->wait_until(
        [=](const Configuration& configuration) {
          const Member* const zero = configuration.find(0);
          return zero != nullptr && zero->generation == generation && zero->state == state;
        },
        kPatienceUs);
  };
  {
    Node zero(world(), 0);
    ASSERT_TRUE(zero->serve().ok());
  }
  ASSERT_TRUE(ends(1, MemberState::kDead));
  ASSERT_TRUE(Node(world(), 0)->leave().ok());
  EXPECT_TRUE(ends(2, MemberState::kDead)) << "it has not served";
  {
    Node zero(world(), 0);
    ASSERT_TRUE(zero->serve().ok());
    ASSERT_TRUE(zero->leave().ok());
  }
  EXPECT_TRUE(ends(3, MemberState::kLeft));
  ASSERT_TRUE(Node(world(), 0)->leave().ok());
  EXPECT_TRUE(ends(4, MemberState::kLeft)) << "there is nothing to take over";
  ASSERT_TRUE(Node(world(), 0)->die().ok());
  EXPECT_TRUE(ends(5, MemberState::kDead));
}

/// So nobody joins a cluster that serves by the look of its own former life.
TEST_F(MembershipSuite, WhoBeginsTogetherEndsItsFormerLifeFirst) {
  Node zero(world(), 0);
  ASSERT_TRUE(zero->serve().ok());
  { Node one(world(), 1); }
  MembershipOptions again = options_of(1);
  again.together_us = 0;
  EXPECT_FALSE(Node(world(), again).joined());
  EXPECT_TRUE(zero.sees(1, MemberState::kDead));
}

TEST_F(MembershipSuite, ADeathIsSeenAndSaid) {
  Node one(world(), 1);
  Node two(world(), 2);
  std::optional<Node> zero(std::in_place, world(), 0);
  ASSERT_TRUE((*zero)->serve().ok());
  ASSERT_TRUE(one.sees(0, MemberState::kServing));
  EXPECT_EQ(one->living().generation(0), 1u);
  zero.reset();
  ASSERT_TRUE(one.sees(0, MemberState::kDead));
  ASSERT_TRUE(two.sees(0, MemberState::kDead));
  EXPECT_EQ(one->configuration()->version, two->configuration()->version) << "said once";
  EXPECT_EQ(one->configuration()->leader()->id, 1);
  EXPECT_FALSE(one->living().lives(0));
  EXPECT_TRUE(one->living().lives(2));
}

TEST_F(MembershipSuite, WhomOthersCountAsDeadHasLostItsMembership) {
  std::atomic<int> lost{0};
  Membership::Listener listener;
  listener.lost = [&](const Status&) { ++lost; };
  Node zero(world(), options_of(0), listener);
  Node one(world(), 1);
  std::shared_ptr<const Configuration> seen = one->configuration();
  std::vector<Member> members = seen->members;
  members[0].state = MemberState::kDead;
  const std::uint64_t noted = zero->fence().number();
  ASSERT_TRUE(one->change(seen->version, members).ok());
  ASSERT_TRUE(zero.is_lost());
  EXPECT_THAT(zero->status().message(), HasSubstr("lost membership at generation 1"));
  EXPECT_FALSE(zero->fence().open(noted));
  EXPECT_FALSE(zero->fence().open(one->configuration()->number));
  EXPECT_FALSE(zero->serve().ok());
  for (int turn = 0; lost.load() == 0 && turn < 5000; ++turn) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(lost.load(), 1);
  EXPECT_TRUE(one->status().ok());
}

TEST_F(MembershipSuite, AWipedBoardIsTheEnd) {
  Node zero(world(), 0);
  world().wipe();
  ASSERT_TRUE(zero.is_lost());
  EXPECT_EQ(zero->fence().number(), Fence::kClosed);
}

}  // namespace
}  // namespace granary::membership::tests
