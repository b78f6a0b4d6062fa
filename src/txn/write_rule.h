#pragma once
// The rules of put, update, insert and remove: what each asks of the key that it writes. They hold for records here and elsewhere.

#include <granary/transaction.h>

namespace granary::txn {

struct WriteRule {
  Outcome if_there;    ///< kOk: it writes
  Outcome if_missing;  ///< kOk: it writes
  bool removes = false;

  /// Whether the write has to know if the key is there. The transaction relies on that from then on.
  constexpr bool looks() const { return if_there != Outcome::kOk || if_missing != Outcome::kOk; }
  constexpr Outcome outcome(bool there) const { return there ? if_there : if_missing; }
};

inline constexpr WriteRule kPut{.if_there = Outcome::kOk, .if_missing = Outcome::kOk};
inline constexpr WriteRule kUpdate{.if_there = Outcome::kOk, .if_missing = Outcome::kNotFound};
inline constexpr WriteRule kInsert{.if_there = Outcome::kAlreadyExists, .if_missing = Outcome::kOk};
inline constexpr WriteRule kRemove{.if_there = Outcome::kOk, .if_missing = Outcome::kNotFound, .removes = true};

}  // namespace granary::txn
