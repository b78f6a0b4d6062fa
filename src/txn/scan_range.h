#pragma once
// Converts the public scan range (ScanRange) into the terms of the ordered index. Used by scans of transactions and
// snapshots.

#include <string_view>

#include <granary/transaction.h>

#include "kvstore/ordered/tree.h"

namespace granary::txn {

inline kvstore::ordered::Range tree_range(const ScanRange& range) {
  return {.from = range.from,
          .from_inclusive = range.from_inclusive,
          .to = range.to.value_or(std::string_view{}),
          .to_inclusive = range.to_inclusive,
          .to_infinity = !range.to.has_value()};
}

inline kvstore::ordered::Direction direction(const ScanRange& range) {
  return range.order == Order::kAscending ? kvstore::ordered::Direction::kForward
                                          : kvstore::ordered::Direction::kReverse;
}

/// Returns the longer bound of the range, whose length an operation checks.
inline std::string_view longest_bound(const ScanRange& range) {
  return range.to.has_value() && range.to->size() > range.from.size() ? *range.to : range.from;
}

}  // namespace granary::txn
