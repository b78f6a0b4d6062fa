#pragma once
// The lending of a worker, which keeps an idle worker's garbage from filling the memory of the others.
//
// A thread may go to sleep with its worker registered, and the worker's garbage and free blocks are its own. So another thread may
// borrow the worker while it is in no transaction. Nothing of that costs a transaction more than a look at `lent_`, as the fence is
// the borrower's: it says that it borrows, makes every thread pass a full fence, and then looks at the worker's epoch slots. Either
// the owner has entered a slot before the fence, and the borrower sees it and gives up; or it enters one after the fence, sees
// `lent_`, and waits. (The same asymmetry as at I13, src/epoch/epoch.h.)

#include <atomic>

#include "src/cc/worker_state.h"
#include "src/txn/worker_slots.h"

namespace granary::txn {

class Lending {
 public:
  /// Both are the worker's, and outlive this.
  Lending(const cc::WorkerState& state, const WorkerSlots& slots) : state_(state), slots_(slots) {}

  /// Whether others may borrow the worker: only if all that its thread does with its memory happens in transactions or in
  /// WorkerCore::collect(). By whoever registers it, while nobody borrows; or by its user, who then waits until it is given back.
  void allow(bool allowed);

  /// Takes the worker's memory and garbage; false if a transaction is open or the worker collects. By one thread at a time, not the
  /// owner within a transaction.
  bool borrow();
  void give_back() { lent_.store(false, std::memory_order_release); }

  /// Returns whether somebody has borrowed the worker. The owner calls it with its slot entered. The load is an acquire, so that the owner
  /// sees what a former borrower did.
  bool lent() const { return lent_.load(std::memory_order_acquire); }
  /// Waits until the worker is given back. By the owner, whose slot is entered.
  void await_return() const {
    if (lent()) [[unlikely]]
      wait_until_given_back();
  }

 private:
  [[gnu::cold]] void wait_until_given_back() const;

  const cc::WorkerState& state_;
  const WorkerSlots& slots_;
  std::atomic<bool> lendable_{false};  // written by allow(), read by who borrows; ordered with lent_, see allow()
  std::atomic<bool> lent_{false};      // written by who borrows, read by the owner
};

}  // namespace granary::txn
