#pragma once
// Converts a range of secondary keys, as applications give it, into the range of an index's entries that have these
// keys. Used by scans of secondary indexes.

#include <string>

#include <granary/transaction.h>

#include "src/txn/table_core.h"

namespace granary::txn {

/// The entries of a range. In a unique index the secondary key is the whole entry. In any other, the primary key stands
/// behind it (append_index_key()), so an entry is greater than its secondary key: a bound that ends between two
/// secondary keys has to end behind all entries of the first one.
class IndexRange {
 public:
  /// `range` is over secondary keys; its views outlive the object.
  IndexRange(const IndexOptions& options, const ScanRange& range);
  IndexRange(const IndexRange&) = delete;
  IndexRange& operator=(const IndexRange&) = delete;

  const ScanRange& entries() const { return entries_; }

 private:
  ScanRange entries_;
  std::string behind_from_, behind_to_;  ///< what entries_ refers to where a bound had to be moved
};

}  // namespace granary::txn
