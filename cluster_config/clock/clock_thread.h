#pragma once
// Drives a clock.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cluster_config/clock/clock.h"

namespace granary::cluster_config::clock {

/// Steps `clock`, which outlives it, from when it is made until it is destroyed.
class ClockThread {
 public:
  explicit ClockThread(Clock& clock, std::chrono::microseconds period = std::chrono::milliseconds(1));
  ~ClockThread();
  ClockThread(const ClockThread&) = delete;
  ClockThread& operator=(const ClockThread&) = delete;

 private:
  void run(std::chrono::microseconds period);

  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace granary::cluster_config::clock
