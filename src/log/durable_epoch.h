#pragma once
// Keeps D, the durable epoch (Silo 4.10): the smallest of the epochs that the loggers have on the device. A thread that
// must not show a result before it is durable waits here.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include <granary/status.h>

#include "src/base/cache_line.h"
#include "src/epoch/epoch.h"

namespace granary::log {

class DurableEpoch {
 public:
  /// Every one of `loggers` begins at `first`, the epoch up to which all is durable already.
  DurableEpoch(std::size_t loggers, epoch::Epoch first);

  epoch::Epoch current() const { return durable_.load(std::memory_order_acquire); }

  /// Notes that logger `logger` has everything with an epoch ≤ `complete` on the device. A logger's epoch never goes
  /// back.
  void publish(std::size_t logger, epoch::Epoch complete);

  /// Stops D for good, because a logger could not write. The first cause is kept.
  void fail(const Status& cause);
  /// Whether D has stopped. The word is written once (release) and read by committing workers; the load is an acquire
  /// load, so that they find cause().
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status cause() const;

  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  /// Waits until D ≥ epoch. Returns the cause if D has stopped before that, or kUnavailable after `timeout_us`.
  Status wait(epoch::Epoch epoch, std::uint64_t timeout_us = kForever) const;

 private:
  alignas(base::kCacheLine) std::atomic<epoch::Epoch> durable_;  // raised by loggers under mutex_ (release)
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;          // guards cause_, locals_ and the raising of durable_
  std::vector<epoch::Epoch> locals_;  // d_l
  mutable std::condition_variable raised_;
  Status cause_;
};

}  // namespace granary::log
