#pragma once
// Ranges of scans between the public terms and those of messages.

#include <granary/transaction.h>

#include "src/cluster/messages/requests.h"

namespace granary::cluster::messages {

/// The views are the range's.
inline KeyRange range_of(const ScanRange& range) {
  return {.from = range.from,
          .from_inclusive = range.from_inclusive,
          .to = range.to.value_or(std::string_view()),
          .to_inclusive = range.to_inclusive,
          .to_infinity = !range.to.has_value(),
          .descending = range.order == Order::kDescending,
          .limit = range.limit};
}

inline ScanRange scan_range_of(const KeyRange& range) {
  ScanRange scan{.from = range.from,
                 .from_inclusive = range.from_inclusive,
                 .to_inclusive = range.to_inclusive,
                 .order = range.descending ? Order::kDescending : Order::kAscending,
                 .limit = range.limit};
  if (!range.to_infinity) scan.to = range.to;
  return scan;
}

}  // namespace granary::cluster::messages
