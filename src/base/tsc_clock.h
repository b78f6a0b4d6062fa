#pragma once
// Measures latencies and the age of softtime. It reads the processor's time stamp counter if that runs at a constant
// rate, calibrated against CLOCK_MONOTONIC_RAW, or else that clock itself. That clock is never slewed, while daemons
// slew CLOCK_MONOTONIC: a rate measured during a slew would be off for good. Reading costs some 8 ns (25 ns as
// fallback). In a simulation it shows the simulated time.

#include <atomic>
#include <cstdint>

namespace granary::base {

inline constexpr std::uint64_t kSecondNs = 1'000'000'000;

/// Returns CLOCK_MONOTONIC in nanoseconds.
std::uint64_t monotonic_ns();
/// Returns CLOCK_MONOTONIC in microseconds.
inline std::uint64_t monotonic_us() { return monotonic_ns() / 1000; }
/// Returns CLOCK_MONOTONIC_RAW in nanoseconds. It cannot be compared with monotonic_ns(): the two come apart by seconds
/// within days.
std::uint64_t raw_ns();

class TscClock {
 public:
  /// Checks whether the counter can be trusted, and measures its rate for `calibration_ms`.
  static TscClock calibrated(unsigned calibration_ms = 20);
  /// Returns a clock that reads CLOCK_MONOTONIC_RAW: for machines without a constant counter, and for tests.
  static TscClock fallback() { return TscClock(false, 1.0); }
  /// Returns a clock that reads `nanoseconds`, which other code counts, and which must outlive the clock.
  static TscClock simulated(const std::atomic<std::uint64_t>& nanoseconds) {
    TscClock clock(false, 1.0);
    clock.simulated_ = &nanoseconds;
    return clock;
  }

  std::uint64_t ticks() const {
    if (counter_) [[likely]]
      return __builtin_ia32_rdtsc();
    return simulated_ == nullptr ? raw_ns() : simulated_->load(std::memory_order_acquire);
  }
  double nanoseconds_per_tick() const { return nanoseconds_per_tick_; }
  double nanoseconds(std::uint64_t tick_count) const { return static_cast<double>(tick_count) * nanoseconds_per_tick_; }

 private:
  TscClock(bool counter, double nanoseconds_per_tick)
      : counter_(counter),
        nanoseconds_per_tick_(nanoseconds_per_tick) {}

  bool counter_;
  double nanoseconds_per_tick_;
  const std::atomic<std::uint64_t>* simulated_ = nullptr;
};

/// Measures the rate of the same counter for code that cannot wait for a calibration: between the meter's construction
/// and the first question for the rate that comes late enough.
class TickMeter {
 public:
  TickMeter();

  std::uint64_t ticks() const {
    if (counter_) [[likely]]
      return __builtin_ia32_rdtsc();
    return raw_ns();
  }
  /// Returns the rate. If it is asked 10 ms after the construction or later, the rate is exact to some 1e-4, and stays
  /// the same from then on. Thread-safe.
  double nanoseconds_per_tick() const;

 private:
  bool counter_;
  std::uint64_t from_ticks_ = 0;
  std::uint64_t from_ns_ = 0;
  mutable std::atomic<double> rate_{0};  ///< 0 until it is known. Relaxed: it is a value of its own
};

}  // namespace granary::base
