// The order between a session's timestamps and what it tells the others.

#include "bench/hekaton/timestamps.h"

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "src/base/give_way.h"

namespace granary::bench::hekaton {
namespace {

/// Whether Linux itself takes the time from the processors' counters, and so finds that they agree.
bool counters_agree() {
  std::string source;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
  return source == "tsc" || source == "kvm-clock";
}

struct alignas(base::kCacheLine) Session {
  std::atomic<std::uint32_t> round{0};   // that has begun
  std::atomic<std::uint32_t> taking{0};  // the last round in which it has told that it takes its timestamp
  std::atomic<std::uint32_t> ended{0};   // the last round that is over; its owner stores it with release
  Timestamp time = 0;
  std::uint32_t seen = 0;  // of the other's `taking`
};

void wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t round) {
  for (std::uint32_t turn = 1; word.load(std::memory_order_acquire) < round; ++turn) {
    if (turn % 4096 == 0) base::give_way();
  }
}

/// As in a commit: tells that it takes its timestamp, and takes it; then looks at the other.
void take(Session& own, const Session& other, Timestamps& timestamps, std::uint32_t number, std::uint32_t round) {
  own.taking.store(round, std::memory_order_seq_cst);
  own.time = timestamps.next(number);
  own.seen = other.taking.load(std::memory_order_seq_cst);
  own.ended.store(round, std::memory_order_release);
}

class TimestampOrder : public testing::TestWithParam<TimestampSource> {};

/// If one session has its timestamp and sees that another does not take any yet, the other's is going to be greater.
TEST_P(TimestampOrder, AreTakenAfterItWasTold) {
  if (GetParam() == TimestampSource::kHardwareClock && !counters_agree()) GTEST_SKIP() << "no clock for all processors";
  constexpr std::uint32_t kRounds = 20'000, kPauses = 40;
  Timestamps timestamps(GetParam());
  Session first, second;
  std::thread other([&] {
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      wait_for(first.round, round);
      take(second, first, timestamps, 2, round);
    }
  });
  std::uint64_t too_early = 0;
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    first.round.store(round, std::memory_order_release);
    for (std::uint32_t pause = 0; pause < round % kPauses; ++pause) base::spin_pause();
    take(first, second, timestamps, 1, round);
    wait_for(second.ended, round);
    if (second.seen != round && first.time < second.time) ++too_early;
    if (first.seen != round && second.time < first.time) ++too_early;
  }
  other.join();
  EXPECT_EQ(too_early, 0u) << "of " << kRounds;
}

INSTANTIATE_TEST_SUITE_P(Sources, TimestampOrder,
                         testing::Values(TimestampSource::kMutex, TimestampSource::kFetchAdd,
                                         TimestampSource::kHardwareClock, TimestampSource::kLocalClock));

}  // namespace
}  // namespace granary::bench::hekaton
