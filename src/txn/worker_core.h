#pragma once
// A worker inside the engine: its memory and garbage, its transaction contexts, its counters.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <granary/limits.h>
#include <granary/outcome.h>

#include "src/cc/worker_state.h"

namespace granary::txn {

class Context;
class RemoteAccess;

/// The calling thread, as an address that no other living thread has.
inline const void* this_thread() {
  thread_local char mark;
  return &mark;
}

class WorkerCore {
 public:
  WorkerCore(std::uint32_t id, cc::Shared& shared);
  ~WorkerCore();
  WorkerCore(const WorkerCore&) = delete;
  WorkerCore& operator=(const WorkerCore&) = delete;

  std::uint32_t id() const { return id_; }
  cc::WorkerState& state() { return state_; }
  const cc::WorkerState& state() const { return state_; }
  cc::Shared& shared() { return state_.shared; }

  /// Relaxed: a wrong thread only needs to see that the value is not its own.
  bool bound_here() const { return thread_.load(std::memory_order_relaxed) == this_thread(); }
  /// Binds the worker to the calling thread if it is bound to none; false if another thread has it.
  bool bind() { return bound_here() || bind_first(); }
  void attach() { thread_.store(this_thread(), std::memory_order_relaxed); }
  void detach() { thread_.store(nullptr, std::memory_order_relaxed); }

  /// How its transactions reach other nodes; without it they cannot. No transaction is open.
  void set_remote(std::function<std::unique_ptr<RemoteAccess>()> make);
  /// They do not any more. Ends what is open.
  void end_remote();

  /// Does what transactions left to do at other nodes, if it is time to and none is open: it may take its time.
  void tidy_remote();

  /// An idle context, or nullptr if kMaxOpenTransactions are open (or no epoch slot is left).
  Context* idle_context();
  /// The first context, idle almost always: also for a handle whose operations all report kWrongThread. nullptr before
  /// the first begin.
  Context* first_context() { return first_context_.load(std::memory_order_acquire); }
  /// True if the slot is one of this worker's. Any thread.
  bool owns_slot(const epoch::Slot* slot) const;
  /// Aborts whatever is open.
  void abort_all();

  /// Called between transactions: if the epoch moved since the last collection, or that one left work, frees a little.
  void collect_some(epoch::Epoch epoch) {
    if (epoch == collected_epoch_ && !more_garbage_) return;
    collected_epoch_ = epoch;
    collect(kCollectBudget);
  }
  bool has_garbage() const {
    return !state_.versions.empty() || !state_.absents.empty() || !state_.unhooked.empty() ||
           state_.nodes.waiting() != 0;
  }
  /// Frees at most about `budget` items; true if there may be more.
  bool collect(std::size_t budget);

  void count_commit() { cc::bump(commits_, std::uint64_t{1}); }
  void count_snapshot() { cc::bump(snapshots_, std::uint64_t{1}); }
  void count_abort(AbortReason reason) { cc::bump(aborts_[static_cast<std::size_t>(reason)], std::uint64_t{1}); }
  std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }
  std::uint64_t snapshots() const { return snapshots_.load(std::memory_order_relaxed); }
  std::uint64_t aborts(std::size_t reason) const { return aborts_[reason].load(std::memory_order_relaxed); }

  /// Pseudo-random bits for back-off jitter.
  std::uint64_t random();

 private:
  bool bind_first();
  static constexpr std::size_t kCollectBudget = 32;

  const std::uint32_t id_;
  std::atomic<const void*> thread_{nullptr};  // written by attach, detach, bind; read by whoever uses the worker
  cc::WorkerState state_;
  epoch::Slot* collect_slot_ = nullptr;
  epoch::Epoch collected_epoch_ = 0;
  bool more_garbage_ = false;
  std::uint64_t random_state_;
  std::function<std::unique_ptr<RemoteAccess>()> make_remote_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::atomic<Context*> first_context_{nullptr};  // set once by the owner (release), read by strangers (acquire)
  // The slots of contexts_, for the watchdog: set by the owner (release) when a context is made, never unset.
  std::array<std::atomic<epoch::Slot*>, kMaxOpenTransactions> slots_{};

  // Written by this worker only (plain relaxed stores), read by statistics; on lines of their own.
  alignas(base::kCacheLine) std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> snapshots_{0};
  std::array<std::atomic<std::uint64_t>, kAbortReasons> aborts_{};
};

}  // namespace granary::txn
