#pragma once
// Counts how the transactions of one worker have ended, for statistics.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <granary/outcome.h>

#include "src/base/cache_line.h"
#include "src/base/counter.h"

namespace granary::txn {

/// Written by the worker only (plain relaxed stores), read by statistics; on cache lines of its own.
class alignas(base::kCacheLine) WorkerCounters {
 public:
  void count_commit() { base::bump(commits_); }
  void count_snapshot() { base::bump(snapshots_); }
  void count_abort(AbortReason reason) { base::bump(aborts_[static_cast<std::size_t>(reason)]); }

  std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }
  std::uint64_t snapshots() const { return snapshots_.load(std::memory_order_relaxed); }
  std::uint64_t aborts(std::size_t reason) const { return aborts_[reason].load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> snapshots_{0};
  std::array<std::atomic<std::uint64_t>, kAbortReasons> aborts_{};
};

}  // namespace granary::txn
