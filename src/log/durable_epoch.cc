#include "src/log/durable_epoch.h"

#include <algorithm>

#include "src/base/test_hooks.h"

namespace granary::log {

DurableEpoch::DurableEpoch(std::size_t loggers, epoch::Epoch first)
    : loggers_(loggers),
      locals_(std::make_unique<Local[]>(loggers)),
      durable_(first) {
  for (std::size_t i = 0; i < loggers; ++i) locals_[i].epoch.store(first, std::memory_order_relaxed);
}

void DurableEpoch::publish(std::size_t logger, epoch::Epoch complete) {
  locals_[logger].epoch.store(complete, std::memory_order_release);
  epoch::Epoch least = complete;
  for (std::size_t i = 0; i < loggers_; ++i) {
    const epoch::Epoch local = locals_[i].epoch.load(std::memory_order_acquire);
    least = base::injected(base::Bug::kDurableIsGreatest) ? std::max(least, local) : std::min(least, local);
  }
  const std::lock_guard lock(mutex_);
  if (least <= durable_.load(std::memory_order_relaxed) || failed_.load(std::memory_order_relaxed)) return;
  durable_.store(least, std::memory_order_release);
  raised_.notify_all();
}

void DurableEpoch::fail(const Status& cause) {
  const std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) return;
  cause_ = cause;
  failed_.store(true, std::memory_order_release);
  raised_.notify_all();
}

Status DurableEpoch::cause() const {
  const std::lock_guard lock(mutex_);
  return cause_;
}

Status DurableEpoch::wait(epoch::Epoch epoch) const {
  if (current() >= epoch) return {};
  std::unique_lock lock(mutex_);
  raised_.wait(lock, [&] {
    return durable_.load(std::memory_order_relaxed) >= epoch || failed_.load(std::memory_order_relaxed);
  });
  return durable_.load(std::memory_order_relaxed) >= epoch ? Status() : cause_;
}

}  // namespace granary::log
