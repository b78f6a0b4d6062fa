#pragma once
// Reads a piece of a scan of another node's ordered table or secondary index by one-sided READs: first the leaves whose
// places this node remembers, and then the records of their entries. scan.cc calls it piece by piece.

#include <optional>

#include "src/cluster/transaction/leaf_reads.h"
#include "src/cluster/transaction/reading.h"
#include "src/cluster/transaction/scan.h"

namespace granary::cluster {

/// The beginning of a range that is scanned.
struct ScanPiece {
  Batch<Access*> entries;  ///< in the range's order
  bool more = false;       ///< the range may have more keys behind these
};

class LeafScan {
 public:
  /// `known`: the table or index that is scanned, nullptr if it is not known. `sealed`: it never changes (I31). The
  /// arguments outlive this object.
  LeafScan(Footprint& footprint, Reading& reading, const ElsewhereRange& asked, const KnownTable* known, bool sealed)
      : footprint_(footprint),
        reading_(reading),
        asked_(asked),
        known_(known),
        sealed_(sealed) {}

  /// Reads a piece from the beginning of `rest`, notes it in the access table and the node set, and makes `rest` the
  /// range behind it. If there is no `piece` then, the caller has to ask the owner for the range's beginning: its leaf
  /// is not known, was being changed, or has keys of more than 8 bytes. Returns kNone, or why the transaction must end.
  AbortReason read(messages::KeyRange& rest, std::optional<ScanPiece>& piece);

 private:
  struct Collected;

  void add_leaves(const messages::KeyRange& rest, LeafReads& leaves) const;
  AbortReason collect_leaves(const messages::KeyRange& rest, LeafReads& leaves, Collected& collected);
  bool collect_entries(const messages::KeyRange& rest, const LeafCopy& leaf, Collected& collected) const;
  AbortReason read_records(const Collected& collected, Batch<Access*>& entries);
  AbortReason read_bases(const Batch<Access*>& entries);
  void advance(messages::KeyRange& rest, const Collected& collected) const;

  Footprint& footprint_;
  Reading& reading_;
  const ElsewhereRange& asked_;
  const KnownTable* const known_;
  const bool sealed_;
};

}  // namespace granary::cluster
