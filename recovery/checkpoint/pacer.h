#pragma once
// How fast one thread of a checkpoint may go: as leaves a share of a core to others.
//
// Processor time counts, not the clock's: while the device works or another thread has the core, this one is in
// nobody's way. Time that was not used is not made up for later.

#include <chrono>

namespace granary::recovery::checkpoint {

class Pacer {
 public:
  using Clock = std::chrono::steady_clock;

  /// `duty`: share of a core, above 0, at most 1.
  explicit Pacer(double duty) : duty_(duty) { begin(); }

  /// The calling thread begins with some work.
  void begin();
  /// When that work has taken the time that it may.
  Clock::time_point due() const;

 private:
  const double duty_;
  Clock::time_point began_;
  Clock::duration processor_began_{};
};

}  // namespace granary::recovery::checkpoint
