// Covers when a thread's work is due. Not that the writer waits for it (writer_test.cc).

#include <thread>

#include <gtest/gtest.h>

#include "recovery/checkpoint/pacer.h"

namespace granary::tests {
namespace {

using recovery::checkpoint::Pacer;
using std::chrono::milliseconds;

void work_for(milliseconds time) {
  for (const auto end = Pacer::Clock::now() + time; Pacer::Clock::now() < end;) {
  }
}

TEST(Pacer, WorkTakesAsMuchTimeAsLeavesItsShareOfACore) {
  // Another thread may have had the core for a part of the time, so one of several tries will do.
  for (int i = 0; i < 20; ++i) {
    const auto began = Pacer::Clock::now();
    Pacer pacer(0.1);
    work_for(milliseconds(5));
    const auto time = pacer.due() - began;
    EXPECT_LT(time, 11 * (Pacer::Clock::now() - began)) << "never more than processor time tells";
    if (time >= milliseconds(45)) return;
  }
  FAIL() << "5 ms of work at a duty of 0.1 never took 45 ms";
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
