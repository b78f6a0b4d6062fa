// The thread that takes turns: when it takes the first and the next, and that none comes after its end.

#include "src/base/periodic_thread.h"

#include <gtest/gtest.h>

#include <atomic>

namespace granary::base {
namespace {

using Clock = PeriodicThread::Clock;

TEST(PeriodicThread, TakesEachTurnNoSoonerThanTheLastOneSaid) {
  constexpr auto kPeriod = std::chrono::milliseconds(2);
  std::atomic<int> turns{0};
  std::atomic<bool> early{false};
  auto due = Clock::now() + kPeriod;
  PeriodicThread thread("gr-test", due, [&] {
    early = early || Clock::now() < due;
    due = Clock::now() + kPeriod;
    ++turns;
    return due;
  });
  while (turns < 5) std::this_thread::yield();
  thread.end();
  EXPECT_FALSE(early);
}

TEST(PeriodicThread, TakesNoTurnAfterItsEnd) {
  std::atomic<int> turns{0};
  PeriodicThread thread("gr-test", Clock::now(), [&] {
    ++turns;
    return Clock::now();
  });
  while (turns == 0) std::this_thread::yield();
  thread.end();
  const int taken = turns;
  thread.end();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(turns, taken);
}

TEST(PeriodicThread, EndsWithoutWaitingForTheNextTurn) {
  const auto begin = Clock::now();
  {
    const PeriodicThread thread("gr-test", begin + std::chrono::hours(1), [] { return Clock::now(); });
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::minutes(1));
}

}  // namespace
}  // namespace granary::base
