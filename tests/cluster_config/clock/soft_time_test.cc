// Softtime and the two questions asked of it, at their borders (I9).

#include "src/base/soft_time.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace granary::base {
namespace {

constexpr std::uint64_t kEnd = 1'000'000;
constexpr std::uint64_t kDelta = 50;

TimeReading at(std::uint64_t now_us) { return {.now_us = now_us, .error_us = kDelta, .known = true}; }

TEST(TimeReading, ALeaseIsValidUntilTheErrorBeforeItsEnd) {
  EXPECT_TRUE(at(0).valid(kEnd));
  EXPECT_TRUE(at(kEnd - kDelta - 1).valid(kEnd));
  EXPECT_FALSE(at(kEnd - kDelta).valid(kEnd));
  EXPECT_FALSE(at(kEnd).valid(kEnd));
  EXPECT_FALSE(at(kEnd + 1'000'000).valid(kEnd));
}

TEST(TimeReading, ALeaseHasExpiredFromTheErrorAfterItsEnd) {
  EXPECT_TRUE(at(kEnd + kDelta + 1).expired(kEnd));
  EXPECT_FALSE(at(kEnd + kDelta).expired(kEnd));
  EXPECT_FALSE(at(kEnd).expired(kEnd));
  EXPECT_FALSE(at(0).expired(kEnd));
}

/// After the time of all has been set back; in between are those that another node may still have taken by this time.
TEST(TimeReading, ALeaseThatEndsLaterThanAnyCanIsOver) {
  constexpr std::uint64_t kLongest = 2'000;
  TimeReading now = at(kEnd);
  now.longest_us = kLongest;
  EXPECT_TRUE(now.valid(kEnd + kLongest + 2 * kDelta));
  EXPECT_FALSE(now.valid(kEnd + kLongest + 2 * kDelta + 1));
  EXPECT_FALSE(now.expired(kEnd + kLongest + 3 * kDelta));
  EXPECT_TRUE(now.expired(kEnd + kLongest + 3 * kDelta + 1));
  now.known = false;
  EXPECT_FALSE(now.expired(kEnd * 2));
}

TEST(TimeReading, HowLongALeaseHasBeenOver) {
  EXPECT_TRUE(at(kEnd + kDelta + 8).expired(kEnd, 7));
  EXPECT_FALSE(at(kEnd + kDelta + 7).expired(kEnd, 7));
}

TEST(TimeReading, WithoutATimeItIsNeither) {
  for (const std::uint64_t now_us : {std::uint64_t{0}, kEnd, kEnd * 2}) {
    const TimeReading unknown{.now_us = now_us};
    EXPECT_FALSE(unknown.valid(kEnd));
    EXPECT_FALSE(unknown.expired(kEnd));
  }
}

class Soft : public testing::Test {
 protected:
  static constexpr std::uint64_t kMaxAge = 10'000;
  std::atomic<std::uint64_t> counter_ns_{5'000'000};
  SoftTime time_{TscClock::simulated(counter_ns_), kMaxAge};
};

TEST_F(Soft, ThereIsNoTimeBeforeItIsWritten) { EXPECT_FALSE(time_.read().known); }

TEST_F(Soft, CountsOnByTheCounterUntilItIsTooOld) {
  time_.write(kEnd, counter_ns_, kDelta);
  counter_ns_ += 3'000'000;
  EXPECT_TRUE(time_.read().known);
  EXPECT_EQ(time_.read().now_us, kEnd + 3'000);
  EXPECT_EQ(time_.read().error_us, kDelta);
  counter_ns_ += 7'000'000;
  EXPECT_TRUE(time_.read().known);
  counter_ns_ += 1'000;
  EXPECT_FALSE(time_.read().known) << "nobody has looked at the clock for too long";
  time_.write(kEnd * 2, counter_ns_, kDelta);
  EXPECT_EQ(time_.read().now_us, kEnd * 2);
}

TEST_F(Soft, ACounterThatIsALittleBehindIsNoAge) {
  time_.write(kEnd, counter_ns_ + 500, kDelta);
  EXPECT_EQ(time_.read().now_us, kEnd);
}

TEST_F(Soft, WithdrawnThereIsNone) {
  time_.write(kEnd, counter_ns_, kDelta);
  time_.withdraw();
  EXPECT_FALSE(time_.read().known);
}

TEST_F(Soft, AfterAJumpNoLeaseOfBeforeIsValid) {
  time_.write(kEnd, counter_ns_, kDelta);
  const LeaseEnd lease{.end_us = kEnd * 2, .jumps = time_.read().jumps};
  EXPECT_TRUE(time_.read().valid(lease));
  time_.withdraw();
  time_.write(kEnd, counter_ns_, kDelta);
  EXPECT_TRUE(time_.read().valid(lease)) << "nobody had set the clock";
  time_.jump();
  EXPECT_FALSE(time_.read().known);
  time_.write(kEnd, counter_ns_, kDelta);
  EXPECT_TRUE(time_.read().valid(kEnd * 2));
  EXPECT_FALSE(time_.read().valid(lease));
}

TEST_F(Soft, ARegionReadsTheSame) {
  struct Memory {
    std::uint64_t load(const std::uint64_t* word) { return *word; }
  } memory;
  time_.write(kEnd, counter_ns_, kDelta);
  EXPECT_TRUE(time_.read_in(memory).known);
  EXPECT_EQ(time_.read_in(memory).now_us, kEnd);
}

/// The error that is written follows from the time, so a mixed reading shows.
TEST_F(Soft, AReadingIsOfOneWrite) {
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (std::uint64_t turn = 1; !stop; ++turn) time_.write(turn * 1'000'000, counter_ns_, turn);
  });
  unsigned mixed = 0;
  for (int i = 0; i < 3'000'000; ++i) {
    const TimeReading reading = time_.read();
    mixed += reading.known && reading.now_us != reading.error_us * 1'000'000 ? 1 : 0;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(mixed, 0u);
}

}  // namespace
}  // namespace granary::base
