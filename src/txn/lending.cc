#include "src/txn/lending.h"

#include "src/base/test_hooks.h"

namespace granary::txn {

void Lending::allow(bool allowed) {
  // This store and the load below are sequentially consistent, as are the store of lent_ and the load of lendable_ in
  // borrow(). So either the borrower sees that it may not borrow, or this thread sees lent_ and waits.
  lendable_.store(allowed, std::memory_order_seq_cst);
  if (!allowed && lent_.load(std::memory_order_seq_cst)) wait_until_given_back();
}

bool Lending::borrow() {
  lent_.store(true, std::memory_order_seq_cst);
  state_.shared.epochs.fence();
  const bool idle = slots_.idle() || base::injected("borrow-too-early");
  if (lendable_.load(std::memory_order_seq_cst) && idle) return true;
  give_back();
  return false;
}

void Lending::wait_until_given_back() const {
  for (std::uint32_t turn = 0; lent(); ++turn) state_.waiter->pause(turn);
}

}  // namespace granary::txn
