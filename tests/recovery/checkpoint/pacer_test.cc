// Covers when a thread's work is due. Not that the writer waits for it (writer_test.cc).

#include <time.h>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "recovery/checkpoint/pacer.h"

namespace granary::tests {
namespace {

using recovery::checkpoint::Pacer;
using std::chrono::milliseconds;

/// So much of this thread's processor time, which is more of the clock's if others have the core meanwhile.
void work_for(milliseconds time) {
  const auto worked = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  for (const auto end = worked() + time; worked() < end;) {
  }
}

TEST(Pacer, WorkTakesAsMuchTimeAsLeavesItsShareOfACore) {
  const auto began = Pacer::Clock::now();
  Pacer pacer(0.1);
  work_for(milliseconds(5));
  const auto time = pacer.due() - began;
  EXPECT_GE(time, milliseconds(50));
  EXPECT_LT(time, 11 * (Pacer::Clock::now() - began)) << "never more than processor time tells";
}

TEST(Pacer, SleepIsNoWork) {
  const auto began = Pacer::Clock::now();
  Pacer pacer(0.1);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_LT(pacer.due(), began + milliseconds(50)) << "the device's time counted as the thread's";
}

TEST(Pacer, TimeThatWasNotUsedIsNotMadeUpFor) {
  Pacer pacer(0.1);
  std::this_thread::sleep_for(milliseconds(20));
  const auto began = Pacer::Clock::now();
  pacer.begin();
  EXPECT_GE(pacer.due(), began);
}

}  // namespace
}  // namespace granary::tests
