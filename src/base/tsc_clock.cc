#include "src/base/tsc_clock.h"

#include <cpuid.h>
#include <ctime>

namespace granary::base {

namespace {

std::uint64_t nanoseconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecondNs + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Whether the counter runs at one rate in all power states (CPUID 0x80000007).
bool counter_is_invariant() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & (1u << 8)) != 0;
}

struct Reading {
  std::uint64_t ticks;
  std::uint64_t ns;
};

/// Reads both clocks at one moment. It takes the tightest of several tries, so it does no harm if the thread is
/// descheduled within one.
Reading read_both() {
  Reading best{};
  std::uint64_t best_width = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 16; ++attempt) {
    const std::uint64_t before = __builtin_ia32_rdtsc();
    const std::uint64_t ns = raw_ns();
    const std::uint64_t width = __builtin_ia32_rdtsc() - before;
    if (width < best_width) {
      best_width = width;
      best = {before + width / 2, ns};
    }
  }
  return best;
}

}  // namespace

std::uint64_t monotonic_ns() { return nanoseconds_of(CLOCK_MONOTONIC); }

std::uint64_t raw_ns() { return nanoseconds_of(CLOCK_MONOTONIC_RAW); }

TscClock TscClock::calibrated(unsigned calibration_ms) {
  if (!counter_is_invariant()) return fallback();
  const Reading start = read_both();
  const timespec pause{.tv_sec = calibration_ms / 1000,
                       .tv_nsec = static_cast<long>(calibration_ms % 1000) * 1'000'000};
  nanosleep(&pause, nullptr);
  const Reading end = read_both();
  if (end.ticks <= start.ticks || end.ns <= start.ns) return fallback();
  return TscClock(true, static_cast<double>(end.ns - start.ns) / static_cast<double>(end.ticks - start.ticks));
}

TickMeter::TickMeter() : counter_(counter_is_invariant()) {
  if (!counter_) return;
  const Reading now = read_both();
  from_ticks_ = now.ticks;
  from_ns_ = now.ns;
}

double TickMeter::nanoseconds_per_tick() const {
  constexpr std::uint64_t kLongEnough_ns = 10'000'000;
  if (!counter_) return 1.0;
  if (const double known = rate_.load(std::memory_order_relaxed); known != 0) return known;
  const Reading now = read_both();
  if (now.ticks <= from_ticks_ || now.ns <= from_ns_) return 1.0;
  const double rate = static_cast<double>(now.ns - from_ns_) / static_cast<double>(now.ticks - from_ticks_);
  double unknown = 0;
  if (now.ns - from_ns_ < kLongEnough_ns) return rate;
  return rate_.compare_exchange_strong(unknown, rate, std::memory_order_relaxed) ? rate : unknown;
}

}  // namespace granary::base
