#pragma once
// Limits the speed of one thread of a checkpoint, so that it leaves a share of its core to other threads.
//
// Processor time counts, not time by the clock: while the device works, or another thread has the core, this thread
// takes nothing from others. Time that was not used is not made up for later.

#include <chrono>

namespace granary::recovery::checkpoint {

class Pacer {
 public:
  using Clock = std::chrono::steady_clock;

  /// `duty` is the share of a core that the thread may take, above 0, at most 1.
  explicit Pacer(double duty) : duty_(duty) { begin(); }

  /// Begins to measure some work of the calling thread.
  void begin();
  /// Returns when that work has taken as long as it should.
  Clock::time_point due() const;

 private:
  const double duty_;
  Clock::time_point began_;
  Clock::duration processor_began_{};
};

}  // namespace granary::recovery::checkpoint
