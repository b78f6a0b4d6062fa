#pragma once
// States the rules of put, update, insert and remove: what each asks of the key that it writes. They are the same for
// records of this node (local_write.cc) and of other nodes (src/cluster/transaction).

#include <granary/transaction.h>

namespace granary::txn {

struct WriteRule {
  Outcome if_there;    ///< the outcome if the key is there; kOk: it is written
  Outcome if_missing;  ///< the outcome if the key is missing; kOk: it is written
  bool removes = false;

  /// Whether the operation has to know if the key is there. Then the transaction also relies on that.
  constexpr bool looks() const { return if_there != Outcome::kOk || if_missing != Outcome::kOk; }
  constexpr Outcome outcome(bool there) const { return there ? if_there : if_missing; }
};

inline constexpr WriteRule kPut{.if_there = Outcome::kOk, .if_missing = Outcome::kOk};
inline constexpr WriteRule kUpdate{.if_there = Outcome::kOk, .if_missing = Outcome::kNotFound};
inline constexpr WriteRule kInsert{.if_there = Outcome::kAlreadyExists, .if_missing = Outcome::kOk};
inline constexpr WriteRule kRemove{.if_there = Outcome::kOk, .if_missing = Outcome::kNotFound, .removes = true};

}  // namespace granary::txn
