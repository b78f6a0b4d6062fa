#include "src/log/durable_epoch.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/base/deadline.h"
#include "src/base/test_hooks.h"

namespace granary::log {

DurableEpoch::DurableEpoch(std::size_t loggers, epoch::Epoch first) : durable_(first), locals_(loggers, first) {}

void DurableEpoch::publish(std::size_t logger, epoch::Epoch complete) {
  // This is done under the mutex: if two loggers publish at once, the later one sees both values, so D is never left at
  // less than they allow.
  const std::lock_guard lock(mutex_);
  locals_[logger] = complete;
  const epoch::Epoch least = base::injected("durable-is-greatest") ? *std::max_element(locals_.begin(), locals_.end())
                                                                   : *std::min_element(locals_.begin(), locals_.end());
  if (least <= durable_.load(std::memory_order_relaxed) || failed_.load(std::memory_order_relaxed)) return;
  base::debug_invariant("I18", [&] {
    return std::all_of(locals_.begin(), locals_.end(), [&](epoch::Epoch local) { return least <= local; });
  });
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

Status DurableEpoch::wait(epoch::Epoch epoch, std::uint64_t timeout_us) const {
  if (current() >= epoch) return {};
  std::unique_lock lock(mutex_);
  const bool ended = raised_.wait_until(lock, base::deadline_in(timeout_us), [&] {
    return durable_.load(std::memory_order_relaxed) >= epoch || failed_.load(std::memory_order_relaxed);
  });
  if (!ended) return {StatusCode::kUnavailable, "it is not durable in time"};
  return durable_.load(std::memory_order_relaxed) >= epoch ? Status() : cause_;
}

}  // namespace granary::log
