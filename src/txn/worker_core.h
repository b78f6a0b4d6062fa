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
    const bool moved = epoch != collected_epoch_;
    collected_epoch_ = epoch;
    collect(kCollectBudget, moved && shared().slabs.short_of_memory());
  }
  /// For an allocation that found no memory, also within a transaction: frees garbage that has become safe. False if there was none.
  [[gnu::cold]] bool make_room();
  /// By the owner within a slot, or by who has the worker to himself: others may free it meanwhile (see borrow()).
  bool has_garbage() const {
    return !state_.versions.empty() || !state_.absents.empty() || !state_.unborn.empty() || !state_.unhooked.empty() ||
           state_.nodes.waiting() != 0;
  }
  /// Frees at most about `budget` items, and returns how many; `pass_on`: gives the free blocks to the pool, for other workers.
  /// Does nothing while another thread has borrowed the worker.
  std::size_t collect(std::size_t budget, bool pass_on = false);

  // --- What keeps an idle worker's garbage from filling the memory of the others. ---
  //
  // A thread may go to sleep with its worker registered, and the worker's garbage and free blocks are its own. So another thread may
  // borrow the worker while it is in no transaction. Nothing of that costs a transaction more than a look at `lent_`, as the fence is
  // the borrower's: it says that it borrows, makes every thread pass a full fence, and then looks at the worker's epoch slots. Either
  // the owner has entered a slot before the fence, and the borrower sees it and gives up; or it enters one after the fence, sees
  // `lent_`, and waits. (The same asymmetry as at I13, src/epoch/epoch.h.)

  /// Whether others may borrow the worker: only if all that its thread does with its memory happens in transactions or in collect().
  /// By whoever registers it, while nobody borrows; or by its user, who then waits until it is given back.
  void let_borrow(bool allowed);
  /// Takes the worker's memory and garbage; false if a transaction is open or the worker collects. By one thread at a time, not the
  /// owner within a transaction.
  bool borrow();
  void give_back() { lent_.store(false, std::memory_order_release); }
  /// By the owner, whose slot is entered. Acquire: sees what a former borrower did.
  void await_return() {
    if (lent_.load(std::memory_order_acquire)) [[unlikely]]
      wait_until_given_back();
  }

  /// Gives the free blocks to the pool, for other workers. By who has borrowed the worker, or while it is not registered.
  void pass_on_memory() { state_.slabs.release(); }

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
  bool in_no_slot() const;
  [[gnu::cold]] void wait_until_given_back();
  static constexpr std::size_t kCollectBudget = 32;
  static constexpr std::size_t kRoomBudget = 1024;

  const std::uint32_t id_;
  std::atomic<const void*> thread_{nullptr};  // written by attach, detach, bind; read by whoever uses the worker
  cc::WorkerState state_;
  epoch::Slot* collect_slot_ = nullptr;
  epoch::Epoch collected_epoch_ = 0;
  bool more_garbage_ = false;
  std::atomic<bool> lendable_{false};  // see let_borrow()
  std::atomic<bool> lent_{false};      // written by who borrows, read by the owner
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
