#pragma once
// Helps the puts of a multi_put that cannot be made.

#include <span>

#include <granary/transaction.h>

namespace granary::txn {

/// Gives every put the outcome because of which none of them can be made, and returns it.
[[gnu::cold]] inline Outcome refuse_all(std::span<MultiPut> puts, Outcome outcome) {
  for (MultiPut& put : puts) put.outcome = outcome;
  return outcome;
}

}  // namespace granary::txn
