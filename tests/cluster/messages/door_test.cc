// The door of a node's service: one is inside, and who was asked for by the backstop rouses it. With threads, whose sanitizer sees whether
// what lies inside is passed on.

#include "src/cluster/messages/door.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/cluster/messages/sim_nodes.h"

namespace granary::cluster::messages {
namespace {

class AtTheDoor : public testing::Test {
 protected:
  AtTheDoor() { door_.open(service_, bed_); }
  /// Whether the service's thread, sleeping, would have been roused since the last time.
  bool roused() { return bed_.sleep(0); }

  SimNodes nodes_;
  Service& service_ = nodes_.node(1).service();
  rdma::Endpoint& bed_ = nodes_.node(1).bed();
  Door door_;
};

TEST_F(AtTheDoor, AWorkerIsInsideAlone) {
  EXPECT_EQ(door_.enter(), &service_);
  EXPECT_EQ(door_.enter(), nullptr);
  EXPECT_FALSE(door_.enter_or_ask());
  door_.leave(false);
  EXPECT_EQ(door_.enter(), &service_);
  door_.leave(false);
}

TEST_F(AtTheDoor, TheBackstopIsInsideAlone) {
  EXPECT_TRUE(door_.enter_or_ask());
  EXPECT_EQ(door_.enter(), nullptr);
  EXPECT_FALSE(door_.enter_or_ask());
  door_.leave_as_backstop();
  EXPECT_EQ(door_.enter(), &service_);
}

TEST_F(AtTheDoor, TheBackstopIsRousedIfItHasAsked) {
  ASSERT_NE(door_.enter(), nullptr);
  EXPECT_FALSE(door_.enter_or_ask());
  EXPECT_FALSE(roused());
  door_.leave(false);
  EXPECT_TRUE(roused());
  ASSERT_NE(door_.enter(), nullptr);
  door_.leave(false);
  EXPECT_FALSE(roused()) << "it is told once";
}

TEST_F(AtTheDoor, TheBackstopIsRousedOnceHoweverOftenItHasAsked) {
  ASSERT_NE(door_.enter(), nullptr);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(door_.enter_or_ask());
  door_.leave(false);
  EXPECT_TRUE(roused());
  EXPECT_FALSE(roused());
  EXPECT_TRUE(door_.enter_or_ask());
  door_.leave_as_backstop();
}

TEST_F(AtTheDoor, TheBackstopIsRousedForWhatIsLeft) {
  ASSERT_NE(door_.enter(), nullptr);
  door_.leave(true);
  EXPECT_TRUE(roused());
}

TEST_F(AtTheDoor, NobodyGoesInWhileItIsClosed) {
  Door closed;
  EXPECT_EQ(closed.enter(), nullptr);
  EXPECT_FALSE(closed.enter_or_ask());
  closed.close();
  door_.close();
  EXPECT_EQ(door_.enter(), nullptr);
  EXPECT_FALSE(door_.enter_or_ask());
}

TEST_F(AtTheDoor, ItIsClosedWhenNobodyIsInside) {
  ASSERT_NE(door_.enter(), nullptr);
  std::atomic<bool> closed{false};
  std::thread closing([&] {
    door_.close();
    closed.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(closed.load());
  door_.leave(false);
  closing.join();
  EXPECT_TRUE(closed.load());
}

/// The sum has no atomics: a second one inside would lose something, and a sanitizer tell of it.
TEST_F(AtTheDoor, ThreadsPassOnWhatIsInside) {
  constexpr int kThreads = 3, kTimes = 20'000;
  std::uint64_t sum = 0;
  std::atomic<std::uint64_t> entered{0};
  const auto work = [&](bool backstop) {
    for (int i = 0; i < kTimes; ++i) {
      if (backstop ? !door_.enter_or_ask() : door_.enter() == nullptr) continue;
      ++sum;
      entered.fetch_add(1, std::memory_order_relaxed);
      if (backstop) {
        door_.leave_as_backstop();
      } else {
        door_.leave(false);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i == 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, entered.load());
  EXPECT_GT(sum, 0u);
}

}  // namespace
}  // namespace granary::cluster::messages
