#pragma once
// READs a piece of a scan of another node's ordered table or secondary index: the leaves that are known of, then the records of their entries.

#include <optional>

#include "src/cluster/transaction/leaf_reads.h"
#include "src/cluster/transaction/reading.h"
#include "src/cluster/transaction/scan.h"

namespace granary::cluster {

class LeafScan {
 public:
  /// `known`: what is scanned, the range's table or its index; nullptr if it is not known. `sealed`: nothing ever changes there. The arguments
  /// outlive it.
  LeafScan(Footprint& footprint, Reading& reading, const ElsewhereRange& scanned, const KnownTable* known, bool sealed)
      : footprint_(footprint),
        reading_(reading),
        scanned_(scanned),
        known_(known),
        sealed_(sealed) {}

  /// READs what the range begins with, and puts it into the sets. `entries` gets the records of the piece in the range's order, and
  /// `rest` becomes what is behind them. Without entries the range's beginning is to be asked for: its leaf is not known, was being changed, or has keys
  /// of more than 8 bytes there. kNone, or why the transaction must end.
  AbortReason read(messages::Range& rest, std::optional<Batch<Access*>>& entries, bool& more);

 private:
  struct Piece;

  void add_leaves(const messages::Range& rest, LeafReads& leaves) const;
  AbortReason take_leaves(const messages::Range& rest, LeafReads& leaves, Piece& piece);
  bool take_entries(const messages::Range& rest, const LeafCopy& leaf, Piece& piece) const;
  AbortReason take_records(const Piece& piece, Batch<Access*>& entries);
  AbortReason take_bases(const Batch<Access*>& entries);
  void cut(const Piece& piece, messages::Range& rest) const;

  Footprint& footprint_;
  Reading& reading_;
  const ElsewhereRange& scanned_;
  const KnownTable* const known_;
  const bool sealed_;
};

}  // namespace granary::cluster
