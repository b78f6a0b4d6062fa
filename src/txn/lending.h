#pragma once
// Lends an idle worker to another thread, which frees its garbage (I17; db::MemoryRelief). Otherwise a thread that
// sleeps with its worker registered would keep garbage and free blocks that other workers need.
//
// Order: a worker is borrowed only while it is in no transaction. The borrower sets `lent_`, makes every thread of the
// process pass a full fence, and then looks at the worker's epoch slots. The owner enters a slot and then loads
// `lent_`. If the owner entered before the fence, the borrower sees the slot and gives up. If it enters after the
// fence, it sees `lent_` and waits. So a transaction pays one load, and the borrower pays the fence (the asymmetry of
// I13, src/epoch/epoch.h).

#include <atomic>

#include "src/cc/worker_state.h"
#include "src/txn/worker_slots.h"

namespace granary::txn {

class Lending {
 public:
  /// Both arguments are the worker's, and outlive this object.
  Lending(const cc::WorkerState& state, const WorkerSlots& slots) : state_(state), slots_(slots) {}

  /// Sets whether others may borrow the worker. They may only if its thread uses the worker's memory in transactions
  /// and in WorkerCore::collect() alone. Called when the worker is registered, while nobody borrows it, or by its user;
  /// a call with false waits until the worker is given back.
  void allow(bool allowed);

  /// Borrows the worker's memory and garbage. False if that is not allowed, or the worker is in a slot: a transaction
  /// is open, or it collects garbage. Called by one thread at a time, and not by the owner within a transaction.
  bool borrow();
  void give_back() { lent_.store(false, std::memory_order_release); }

  /// Whether somebody has borrowed the worker. The owner calls it with its slot entered. The load is an acquire, so
  /// that the owner sees what a former borrower has done.
  bool lent() const { return lent_.load(std::memory_order_acquire); }
  /// Waits until the worker is given back. Called by the owner, whose slot is entered.
  void await_return() const {
    if (lent()) [[unlikely]]
      wait_until_given_back();
  }

 private:
  [[gnu::cold]] void wait_until_given_back() const;

  const cc::WorkerState& state_;
  const WorkerSlots& slots_;
  std::atomic<bool> lendable_{false};  // written by allow(), read by the borrower; for its order with lent_ see allow()
  std::atomic<bool> lent_{false};      // written by the borrower, read by the owner
};

}  // namespace granary::txn
