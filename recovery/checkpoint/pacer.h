#pragma once
// How fast one thread of a checkpoint may go: so many bytes a second, and so much of a core.
//
// Processor time counts, not the clock's: while the device works or another thread has the core, this one is in nobody's
// way. Time that was not used is not made up for later.

#include <chrono>
#include <cstdint>

namespace granary::recovery::checkpoint {

class Pacer {
 public:
  using Clock = std::chrono::steady_clock;

  /// `duty`: share of a core, above 0, at most 1. `bytes_per_second`: 0 = any.
  Pacer(double duty, double bytes_per_second) : duty_(duty), bytes_per_second_(bytes_per_second) { begin(); }

  /// The calling thread begins with some work.
  void begin();
  /// When that work, which came to so many bytes, has taken the time that it may.
  Clock::time_point due(std::uint64_t bytes) const;

 private:
  const double duty_, bytes_per_second_;
  Clock::time_point began_;
  Clock::duration processor_began_{};
};

}  // namespace granary::recovery::checkpoint
