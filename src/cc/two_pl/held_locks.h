#pragma once
// Keeps the locks that a transaction takes before its commit, under two-phase locking.

#include <vector>

#include "src/cc/two_pl/owners.h"
#include "src/record/record.h"

namespace granary::cc::two_pl {

using record::Record;

struct HeldLocks {
  OwnerSet owner = 0;  ///< one owner; 0 until the context's first lock
  /// The owners of the transactions that the same body had open when it began this one, if bodies take turns
  /// (txn::Together). They go on when this transaction has ended.
  OwnerSet outer = 0;
  std::vector<Record*> records;  ///< each once
};

}  // namespace granary::cc::two_pl
