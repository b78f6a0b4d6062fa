#include "src/base/periodic_thread.h"

#include <utility>

#include "src/base/threads.h"

namespace granary::base {

PeriodicThread::PeriodicThread(const char* name, Clock::time_point first, std::function<Clock::time_point()> turn)
    : turn_(std::move(turn)),
      thread_([this, name, first] { run(name, first); }) {}

void PeriodicThread::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void PeriodicThread::run(const char* name, Clock::time_point next) {
  name_thread(name);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_until(lock, next, [this] { return ending_; })) {
    lock.unlock();
    next = turn_();
    lock.lock();
  }
}

}  // namespace granary::base
