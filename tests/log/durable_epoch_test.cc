// D: the least of what the loggers have, never backwards, and the first failure ends it.

#include "src/log/durable_epoch.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/support/scale.h"

namespace granary::log {
namespace {

const Status kFirst{StatusCode::kIoError, "cannot sync 'first'"};
const Status kSecond{StatusCode::kDiskFull, "cannot write to 'second'"};

TEST(DurableEpoch, IsTheLeastOfAllLoggers) {
  DurableEpoch durable(3, 4);
  EXPECT_EQ(durable.current(), 4u);
  durable.publish(0, 9);
  durable.publish(1, 7);
  EXPECT_EQ(durable.current(), 4u) << "logger 2 has nothing yet";
  durable.publish(2, 8);
  EXPECT_EQ(durable.current(), 7u);
  durable.publish(1, 20);
  EXPECT_EQ(durable.current(), 8u);
}

TEST(DurableEpoch, NeverGoesBack) {
  DurableEpoch durable(1, 10);
  durable.publish(0, 5);
  EXPECT_EQ(durable.current(), 10u);
  durable.publish(0, 12);
  durable.publish(0, 11);
  EXPECT_EQ(durable.current(), 12u);
}

TEST(DurableEpoch, AFailureEndsItAndTheFirstCauseIsKept) {
  DurableEpoch durable(1, 1);
  EXPECT_FALSE(durable.failed());
  EXPECT_TRUE(durable.cause().ok());
  durable.publish(0, 3);
  durable.fail(kFirst);
  durable.fail(kSecond);
  durable.publish(0, 9);
  EXPECT_TRUE(durable.failed());
  EXPECT_EQ(durable.current(), 3u);
  EXPECT_EQ(durable.cause().message(), kFirst.message());
  EXPECT_TRUE(durable.wait(3).ok()) << "what was durable stays so";
  EXPECT_EQ(durable.wait(4).message(), kFirst.message());
}

TEST(DurableEpoch, WaitersWakeWhenDReachesThem) {
  DurableEpoch durable(2, 0);
  std::atomic<epoch::Epoch> seen{0};
  std::thread waiter([&] {
    EXPECT_TRUE(durable.wait(5).ok());
    seen.store(durable.current());
  });
  durable.publish(0, 5);
  durable.publish(1, 4);
  EXPECT_EQ(seen.load(), 0u);
  durable.publish(1, 6);
  waiter.join();
  EXPECT_EQ(seen.load(), 5u);
}

TEST(DurableEpoch, AFailureWakesAllWaiters) {
  DurableEpoch durable(2, 0);
  std::vector<std::thread> waiters;
  for (epoch::Epoch epoch = 1; epoch <= 4; ++epoch)
    waiters.emplace_back([&durable, epoch] { EXPECT_EQ(durable.wait(epoch).message(), kFirst.message()); });
  durable.publish(0, 9);
  durable.fail(kFirst);
  for (std::thread& waiter : waiters) waiter.join();
}

TEST(DurableEpoch, LoggersThatPublishAtOnceLeaveNothingBehind) {
  // Without their common mutex each may see the other's old epoch and D stays where it was.
  for (std::uint64_t round = 0; round < tests::scaled(200); ++round) {
    constexpr epoch::Epoch kEpochs = 200;
    DurableEpoch durable(2, 0);
    std::atomic<epoch::Epoch> turn[2] = {0, 0};
    std::atomic<std::uint64_t> behind{0};
    const auto logger = [&](std::size_t me) {
      for (epoch::Epoch epoch = 1; epoch <= kEpochs; ++epoch) {
        durable.publish(me, epoch);
        turn[me].store(epoch);
        // Spins at first, so that both are really at once.
        for (int spins = 0; turn[1 - me].load() < epoch; ++spins) {
          if (spins > 2000) std::this_thread::yield();
        }
        if (durable.current() < epoch) behind.fetch_add(1);
      }
    };
    std::thread other([&] { logger(1); });
    logger(0);
    other.join();
    ASSERT_EQ(behind.load(), 0u) << "round " << round;
  }
}

}  // namespace
}  // namespace granary::log
