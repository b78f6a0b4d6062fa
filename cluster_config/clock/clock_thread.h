#pragma once
// Runs a clock in a thread.

#include <chrono>

#include "cluster_config/clock/clock.h"
#include "src/base/periodic_thread.h"
#include "src/base/tsc_clock.h"

namespace granary::cluster_config::clock {

/// Steps `clock`, which must outlive it, from its construction until its destruction.
class ClockThread {
 public:
  explicit ClockThread(Clock& clock, std::chrono::microseconds period = std::chrono::milliseconds(1))
      : thread_("gr-clock", std::chrono::steady_clock::now(), [&clock, period] {
          clock.step(base::monotonic_us());
          return std::chrono::steady_clock::now() + period;
        }) {}

 private:
  base::PeriodicThread thread_;
};

}  // namespace granary::cluster_config::clock
