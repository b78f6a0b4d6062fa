#pragma once
// Scans another node's ordered table or secondary index for a transaction.

#include "src/cluster/transaction/reading.h"

namespace granary::cluster {

/// A range of an ordered table of another node, or of a secondary index of it.
struct ElsewhereRange {
  const txn::TableCore& table;
  const txn::TableCore* index;  ///< of `table`; nullptr: the table itself is scanned
  std::uint16_t home;
  const ScanRange& range;

  /// Returns the table or index that the range is of.
  const txn::TableCore& scanned() const { return index == nullptr ? table : *index; }
};

/// Implements txn::RemoteAccess::scan().
AbortReason scan(Footprint& footprint, Reading& reading, const ElsewhereRange& asked, ScanFn visit, ScanResult& result);

}  // namespace granary::cluster
