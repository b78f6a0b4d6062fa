#pragma once
// A worker inside the engine: its memory and garbage, and its transaction contexts. Parts with a subject of their own are its epoch
// slots, its counters, and who may borrow it.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/cc/worker_state.h"
#include "src/txn/commit_latencies.h"
#include "src/txn/lending.h"
#include "src/txn/together.h"
#include "src/txn/worker_counters.h"
#include "src/txn/worker_slots.h"

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

  // Transactions that have committed and whose writes are under way to other nodes, each in its context.
  void note_under_way() { ++under_way_; }
  void note_arrived() { --under_way_; }
  bool has_under_way() const { return under_way_ != 0; }
  /// Ends those whose writes have arrived.
  void settle_arrived();

  /// An idle context, or nullptr if kMaxOpenTransactions are open (or no epoch slot is left).
  Context* idle_context();
  /// The first context, idle almost always: also for a handle whose operations all report kWrongThread. nullptr before
  /// the first begin.
  Context* first_context() { return first_context_.load(std::memory_order_acquire); }
  /// Aborts whatever is open.
  void abort_all();

  /// Calls body(0) ... body(count - 1), up to Together::kMost in turns. False, with nothing done, where that cannot be: in such a body, of a
  /// worker that reaches other nodes (it has fibers of its own), where a transaction runs in a hardware region, without memory for stacks.
  bool run_in_turns(std::size_t count, Together::Body body);
  /// In such a body: how it lets the others go on; elsewhere nullptr.
  Together* in_turns() const { return in_turns_; }

  /// Called between transactions: if the epoch moved since the last collection, or that one left work, frees a little.
  void collect_some(epoch::Epoch epoch) {
    if (epoch == collected_epoch_ && !more_garbage_) return;
    const bool moved = epoch != collected_epoch_;
    collected_epoch_ = epoch;
    collect(kCollectBudget, moved && shared().slabs.short_of_memory());
  }
  /// Frees garbage that has become safe, for an allocation that found no memory, also within a transaction. False if there was none.
  [[gnu::cold]] bool make_room();
  /// Returns whether the worker has garbage. It is called by the owner within a slot, or by a thread that has the worker to itself, because
  /// others may free the garbage meanwhile (see lending()).
  bool has_garbage() const {
    return !state_.versions.empty() || !state_.absents.empty() || !state_.unborn.empty() || !state_.unhooked.empty() ||
           state_.nodes.waiting() != 0;
  }
  /// Frees at most about `budget` items, and returns how many; `pass_on`: gives the free blocks to the pool, for other workers.
  /// Does nothing while another thread has borrowed the worker.
  std::size_t collect(std::size_t budget, bool pass_on = false);

  /// Gives the free blocks to the pool, for other workers. By who has borrowed the worker, or while it is not registered.
  void pass_on_memory() { state_.slabs.release(); }

  const WorkerSlots& slots() const { return slots_; }
  Lending& lending() { return lending_; }
  WorkerCounters& counters() { return counters_; }
  CommitLatencies& latencies() { return latencies_; }

  /// Pseudo-random bits for back-off jitter.
  std::uint64_t random();

 private:
  bool bind_first();
  static constexpr std::size_t kCollectBudget = 32;
  static constexpr std::size_t kRoomBudget = 1024;

  const std::uint32_t id_;
  std::atomic<const void*> thread_{nullptr};  // written by attach, detach, bind; read by whoever uses the worker
  cc::WorkerState state_;
  WorkerSlots slots_;
  Lending lending_;
  epoch::Epoch collected_epoch_ = 0;
  bool more_garbage_ = false;
  std::uint64_t random_state_;
  std::function<std::unique_ptr<RemoteAccess>()> make_remote_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::uint32_t under_way_ = 0;
  std::atomic<Context*> first_context_{nullptr};  // set once by the owner (release), read by strangers (acquire)
  WorkerCounters counters_;
  CommitLatencies latencies_;
  std::unique_ptr<Together> together_;  // since they ran in turns for the first time
  Together* in_turns_ = nullptr;        // while they do
};

}  // namespace granary::txn
