#include "cluster_config/clock/clock_thread.h"

#include "src/base/tsc_clock.h"

namespace granary::cluster_config::clock {

ClockThread::ClockThread(Clock& clock, std::chrono::microseconds period)
    : clock_(clock),
      thread_([this, period] { run(period); }) {}

ClockThread::~ClockThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void ClockThread::run(std::chrono::microseconds period) {
  std::unique_lock lock(mutex_);
  do {
    clock_.step(base::monotonic_us());
  } while (!wake_.wait_for(lock, period, [this] { return stopping_; }));
}

}  // namespace granary::cluster_config::clock
