#pragma once
// Represents a worker inside the engine: its memory, its garbage, and the contexts of its transactions. Worker
// (include/granary) is the application's handle of it. Epoch slots, counters, turns and lending have files of their
// own.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/base/process_mark.h"
#include "src/base/test_hooks.h"
#include "src/cc/worker_state.h"
#include "src/txn/commit_latencies.h"
#include "src/txn/lending.h"
#include "src/txn/together.h"
#include "src/txn/worker_counters.h"
#include "src/txn/worker_slots.h"

namespace granary::txn {

class Context;
class RemoteAccess;

/// Returns an address that stands for the calling thread: no other living thread has it.
inline const void* this_thread() {
  thread_local char mark;
  return &mark;
}

class WorkerCore {
 public:
  WorkerCore(std::uint32_t id, cc::DatabaseState& shared);
  ~WorkerCore();
  WorkerCore(const WorkerCore&) = delete;
  WorkerCore& operator=(const WorkerCore&) = delete;

  std::uint32_t id() const { return id_; }
  cc::WorkerState& state() { return state_; }
  const cc::WorkerState& state() const { return state_; }
  cc::DatabaseState& shared() { return state_.shared; }

  /// Whether the worker is bound to the calling thread. In a child of a fork it never is, although the child's threads
  /// have the addresses of its parent's. Relaxed: another thread only needs to see that the value is not its own.
  bool bound_here() const {
    return thread_.load(std::memory_order_relaxed) == this_thread() && process_.is_of_this_process();
  }
  /// Returns what an operation answers if the worker is not bound to the calling thread. A worker that is bound to no
  /// thread has been given back, which has ended all of its transactions, or has not begun one yet.
  [[gnu::cold]] Outcome refusal_elsewhere() const {
    return thread_.load(std::memory_order_relaxed) == nullptr ? Outcome::kFinished : Outcome::kWrongThread;
  }
  /// Binds the worker to the calling thread if it is bound to none; false if another thread has it, or this process is
  /// a fork of the worker's.
  bool bind() { return bound_here() || bind_first(); }
  void attach() { thread_.store(this_thread(), std::memory_order_relaxed); }
  void detach() { thread_.store(nullptr, std::memory_order_relaxed); }

  /// Makes a RemoteAccess for the context, which outlives it.
  using MakeRemote = std::function<std::unique_ptr<RemoteAccess>(const Context&)>;
  /// Sets how the worker's transactions reach other nodes: each context gets a RemoteAccess from `make`. No transaction
  /// is open.
  void set_remote(MakeRemote make);
  /// Ends what is open, and takes the RemoteAccess of all contexts away.
  void end_remote();

  /// Calls RemoteAccess::tidy() if no transaction is open. It may take long.
  void tidy_remote();

  // Counts the contexts whose committed transactions have writes under way to other nodes
  // (TransactionState::State::kUnderWay).
  void note_under_way() { ++under_way_; }
  void note_arrived() { --under_way_; }
  bool has_under_way() const { return under_way_ != 0; }
  /// Ends the transactions whose writes have arrived.
  void end_arrived();

  /// Notes that another thread has dropped the handle of something open. Called by that thread, once the context knows.
  void note_dropped() { dropped_.store(true, std::memory_order_release); }
  /// Whether something is open that end_dropped() would end. Any thread may call it.
  bool has_dropped() const { return dropped_.load(std::memory_order_relaxed); }
  /// Ends what is open whose handles other threads have dropped. Called by the worker's thread, between operations.
  void end_dropped() {
    if (has_dropped()) [[unlikely]]
      end_all_dropped();
  }

  /// Returns an idle context, or nullptr if kMaxOpenTransactions are open or no epoch slot is left.
  Context* idle_context();
  /// Returns the first context, which is idle almost always; nullptr before the first begin. Any thread may call it: a
  /// wrong thread gets a handle of this context, all operations of which report kWrongThread.
  Context* first_context() { return first_context_.load(std::memory_order_acquire); }
  /// Ends whatever is open (Context::end).
  void abort_all();
  /// Returns the owners of the locks that open transactions have which were begun in the seat, where bodies run in
  /// turns.
  cc::two_pl::OwnerSet lock_owners_in_seat(std::uint32_t seat) const;

  /// Calls body(0) ... body(count - 1), up to Together::kMost in turns. Returns false, with nothing done, if that
  /// cannot be: within such a body, for a worker that reaches other nodes (it has fibers of its own), under a protocol
  /// that runs transactions in HTM regions, and without memory for stacks. Once an exception has left a body, no other
  /// body begins. The first such exception is thrown when those that have begun have ended.
  bool run_in_turns(std::size_t count, Together::Body body);
  /// Returns, within such a body, the object by which it lets the others go on; otherwise nullptr.
  Together* in_turns() const { return in_turns_; }

  /// Tells where the worker finds the number of the body that runs (0 there: none does); nullptr: it has no bodies that
  /// take turns. Each body has a number of its own, which none had before.
  void set_bodies(const std::uint64_t* running) { body_ = running == nullptr ? &kNoBody : running; }
  /// Returns the number of the body that runs, where bodies of the worker take turns; 0 outside of bodies.
  std::uint64_t body() const { return *body_; }
  /// Whether the code that runs may use what was begun in the body `begun_in`, 0 standing for outside of bodies.
  /// Two bodies that shared a transaction would change it in the middle of each other's operations, so each uses only
  /// what it has begun. Code outside of bodies runs when they have ended, and may use what they have left open.
  bool may_use(std::uint64_t begun_in) const {
    return body() == begun_in || body() == 0 || base::injected("turns-use-others-transactions");
  }

  /// Frees a little garbage, if the epoch has moved since the last collection or that one has left work. Called between
  /// transactions. Ends what others have dropped (end_dropped).
  void collect_some(epoch::Epoch epoch) {
    end_dropped();
    if (epoch == collected_epoch_ && !more_garbage_) return;
    const bool moved = epoch != collected_epoch_;
    collected_epoch_ = epoch;
    collect(kCollectBudget, moved && shared().slabs.short_of_memory());
  }
  /// Frees garbage that has become safe, after an allocation has found no memory. May be called within a transaction.
  /// False if nothing could be freed.
  [[gnu::cold]] bool make_room();
  /// Whether the worker has garbage. Called by the owner within a slot, or by a thread that has the worker to itself,
  /// since a borrower may free the garbage at any other time (lending()).
  bool has_garbage() const { return !state_.garbage.empty() || state_.nodes.waiting() != 0; }
  /// Frees about `budget` items of garbage at most, and returns how many. `pass_on`: gives the worker's free blocks to
  /// the pool, for other workers. Does nothing while another thread has borrowed the worker.
  std::size_t collect(std::size_t budget, bool pass_on = false);

  /// Gives the worker's free blocks to the pool, for other workers. Called by the owner, by a borrower, or while the
  /// worker is not registered.
  void pass_on_memory() { state_.slabs.release(); }

  const WorkerSlots& slots() const { return slots_; }
  Lending& lending() { return lending_; }
  WorkerCounters& counters() { return counters_; }
  CommitLatencies& latencies() { return latencies_; }

  /// Pseudo-random bits for back-off jitter.
  std::uint64_t random();

 private:
  bool bind_first();
  [[gnu::cold]] void end_all_dropped();
  static constexpr std::size_t kCollectBudget = 32;
  static constexpr std::size_t kRoomBudget = 1024;

  const std::uint32_t id_;
  const base::ProcessMark process_;
  std::atomic<const void*> thread_{
      nullptr};  // written by attach, detach, bind; read by every thread that calls the worker
  /// Set by threads that drop a handle (release, after DroppedHandle::note), looked at by the worker's thread in each
  /// begin() and cleared by it (acquire, before it reads what was noted); read by the watchdog.
  std::atomic<bool> dropped_{false};
  static constexpr std::uint64_t kNoBody = 0;
  const std::uint64_t* body_ = &kNoBody;  // beside thread_, as every operation compares both
  cc::WorkerState state_;
  WorkerSlots slots_;
  Lending lending_;
  epoch::Epoch collected_epoch_ = 0;
  bool more_garbage_ = false;
  std::uint64_t random_state_;
  MakeRemote make_remote_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::uint32_t under_way_ = 0;
  std::atomic<Context*> first_context_{nullptr};  // set once by the owner (release), read by any thread (acquire)
  WorkerCounters counters_;
  CommitLatencies latencies_;
  std::unique_ptr<Together> together_;  // made by the first run_in_turns(), and kept
  Together* in_turns_ = nullptr;        // together_ while run_in_turns() runs, otherwise nullptr
};

}  // namespace granary::txn
