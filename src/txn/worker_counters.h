#pragma once
// Counts how the transactions of one worker have ended, for statistics.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <granary/outcome.h>

#include "src/base/cache_line.h"
#include "src/cc/worker_state.h"

namespace granary::txn {

/// Written by the worker only (plain relaxed stores), read by statistics; on cache lines of its own.
class alignas(base::kCacheLine) WorkerCounters {
 public:
  void count_commit() { cc::bump(commits_, std::uint64_t{1}); }
  void count_snapshot() { cc::bump(snapshots_, std::uint64_t{1}); }
  void count_abort(AbortReason reason) { cc::bump(aborts_[static_cast<std::size_t>(reason)], std::uint64_t{1}); }

  std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }
  std::uint64_t snapshots() const { return snapshots_.load(std::memory_order_relaxed); }
  std::uint64_t aborts(std::size_t reason) const { return aborts_[reason].load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> snapshots_{0};
  std::array<std::atomic<std::uint64_t>, kAbortReasons> aborts_{};
};

}  // namespace granary::txn
