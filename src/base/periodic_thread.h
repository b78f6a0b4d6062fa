#pragma once
// Runs a thread that does the same thing again and again, and waits in between until it is time or until it is ended.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace granary::base {

class PeriodicThread {
 public:
  using Clock = std::chrono::steady_clock;

  /// Calls `turn` at `first`, and after that at the time that it has returned. A time that is past means at once.
  /// `name`, a literal, names the thread (name_thread()).
  PeriodicThread(const char* name, Clock::time_point first, std::function<Clock::time_point()> turn);
  ~PeriodicThread() { end(); }
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

  /// Waits until the turn in progress has returned. There is no turn afterwards. It may not be called from a turn.
  void end();

 private:
  void run(const char* name, Clock::time_point next);

  const std::function<Clock::time_point()> turn_;
  std::mutex mutex_;  // guards ending_
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace granary::base
