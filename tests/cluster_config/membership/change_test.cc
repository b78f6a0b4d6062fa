// The configuration is changed by compare-and-set, and the fence moves before anybody is told. For all kinds of boards.

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/cluster_config/membership/world.h"

namespace granary::membership::tests {
namespace {

TEST_F(MembershipSuite, OfChangesToOneVersionOneIsMade) {
  Node zero(world(), 0);
  Node one(world(), 1);
  ASSERT_TRUE(zero.sees(1, MemberState::kJoining));
  const std::uint64_t first = one->configuration()->version;
  constexpr int kChanges = 5;  // of each
  const auto change = [&](Node& node) {
    for (int done = 0; done < kChanges;) {
      const std::shared_ptr<const Configuration> seen = node->configuration();
      std::vector<Member> members = seen->members;
      members.back().address += 'x';
      const Status status = node->change(seen->version, members);
      if (status.ok()) {
        ++done;
        EXPECT_GT(node->configuration()->version, seen->version) << "who made a change sees it";
      } else {
        EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.message();
      }
    }
  };
  std::thread other([&] { change(zero); });
  change(one);
  other.join();
  const auto last = [&](const Configuration& configuration) { return configuration.version == first + 2 * kChanges; };
  ASSERT_TRUE(zero->wait_until(last, kPatienceUs)) << zero->configuration()->version;
  ASSERT_TRUE(one->wait_until(last, kPatienceUs));
  EXPECT_EQ(one->configuration()->find(1)->address, "127.0.0.1:7001" + std::string(2 * kChanges, 'x'));
  EXPECT_EQ(*zero->configuration(), *one->configuration());
}

TEST_F(MembershipSuite, AChangeToAnOldVersionIsRefused) {
  Node zero(world(), 0);
  const std::shared_ptr<const Configuration> old = zero->configuration();
  ASSERT_TRUE(zero->serve().ok());
  EXPECT_EQ(zero->change(old->version, old->members).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(zero->configuration()->find(0)->state, MemberState::kServing);
}

/// Else who has joined meanwhile would be none of the members any more.
TEST_F(MembershipSuite, AChangeThatHasNotSeenAnotherNodesIsRefused) {
  Node zero(world(), 0);
  const std::shared_ptr<const Configuration> old = zero->configuration();
  Node one(world(), 1);
  EXPECT_EQ(zero->change(old->version, old->members).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(one->serve().ok());
  EXPECT_NE(one->configuration()->find(1), nullptr);
}

TEST_F(MembershipSuite, ManyMayJoinAtOnce) {
  constexpr NodeId kNodes = 6;
  std::vector<std::unique_ptr<Node>> nodes(kNodes);
  std::vector<std::thread> threads;
  for (NodeId id = 0; id < kNodes; ++id) {
    threads.emplace_back([&, id] { nodes[id] = std::make_unique<Node>(world(), id); });
  }
  for (std::thread& thread : threads) thread.join();
  const auto all = [](const Configuration& configuration) { return configuration.members.size() == kNodes; };
  for (const std::unique_ptr<Node>& node : nodes) {
    ASSERT_TRUE((*node)->wait_until(all, kPatienceUs));
    EXPECT_EQ((*node)->configuration()->version, kNodes);
    EXPECT_EQ((*node)->cluster_id(), (*nodes[0])->cluster_id());
  }
}

TEST_F(MembershipSuite, MembersThatCannotBeAreRefused) {
  Node node(world(), 0);
  const std::uint64_t version = node->configuration()->version;
  std::vector<Member> members = node->configuration()->members;
  members.push_back(members.front());
  EXPECT_EQ(node->change(version, members).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(node->configuration()->version, version);
}

TEST_F(MembershipSuite, TheFenceMovesBeforeTheListenerIsTold) {
  Membership* self = nullptr;
  std::atomic<int> told{0};
  std::atomic<int> early{0};
  std::atomic<bool> ready{false};
  Membership::Listener listener;
  listener.changed = [&](const Configuration& configuration) {
    if (!ready.load()) return;
    ++told;
    if (self->fence().number() < configuration.number || self->fence().open(configuration.number - 1)) ++early;
  };
  Node zero(world(), options_of(0), listener);
  self = &*zero.operator->();
  ready = true;
  const std::uint64_t before = zero->configuration()->number;
  ASSERT_TRUE(zero->fence().open(before));
  Node one(world(), 1);
  ASSERT_TRUE(one->serve().ok());
  ASSERT_TRUE(zero.sees(1, MemberState::kServing));
  EXPECT_FALSE(zero->fence().open(before)) << "a transaction of the older membership may not commit";
  EXPECT_TRUE(zero->fence().open(zero->configuration()->number));
  for (int turn = 0; told.load() == 0 && turn < 5000; ++turn) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(told.load(), 0);
  EXPECT_EQ(early.load(), 0);
}

}  // namespace
}  // namespace granary::membership::tests
