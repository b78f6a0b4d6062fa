#include "src/base/periodic_thread.h"

#include <utility>

namespace granary::base {

PeriodicThread::PeriodicThread(Clock::time_point first, std::function<Clock::time_point()> turn)
    : turn_(std::move(turn)),
      thread_([this, first] { run(first); }) {}

void PeriodicThread::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void PeriodicThread::run(Clock::time_point next) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_until(lock, next, [this] { return ending_; })) {
    lock.unlock();
    next = turn_();
    lock.lock();
  }
}

}  // namespace granary::base
