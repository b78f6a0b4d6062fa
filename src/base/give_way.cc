#include "src/base/give_way.h"

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "src/base/tsc_clock.h"

namespace granary::base {
namespace {

/// A yield that takes longer has let another thread compute for as long as the scheduler lets any thread.
constexpr std::uint64_t kTimeSlice_us = 500;
/// After a yield, the thread does not yield again for so many times as long as the yield took.
constexpr std::uint64_t kPatience = 10;
/// The time to ask for. Linux adds its timer slack of 50 us.
constexpr auto kSleep = std::chrono::microseconds(1);

thread_local std::uint64_t sleeps_until_us = 0;

}  // namespace

void give_way() {
  const std::uint64_t begin = monotonic_us();
  if (begin < sleeps_until_us) {
    std::this_thread::sleep_for(kSleep);
    return;
  }
  ::sched_yield();
  const std::uint64_t end = monotonic_us();
  if (end - begin > kTimeSlice_us) sleeps_until_us = end + kPatience * (end - begin);
}

}  // namespace granary::base
