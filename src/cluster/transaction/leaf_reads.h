#pragma once
// READs leaves of other nodes' ordered tables whose places this node remembers (LeafCache), together in one round
// (I32). Look-ups (reading.cc) and scans (leaf_scan.cc) use it.
//
// The records that the leaves lead to are READ afterwards. A record that was in its leaf when the transaction READ the
// leaf is not freed before the transaction has ended: its owner waits for the e_w of all nodes' transactions before it
// uses a block again (I7, I13, I17). So the block holds the key's record, or a record that was the key's and is not the
// latest any more, and no incarnation has to be known.

#include <span>

#include "kvstore/remote/leaf_read.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

using kvstore::ordered::LeafCopy;
using kvstore::ordered::Position;
using kvstore::remote::LeafRead;

class LeafReads {
 public:
  using Unknown = kvstore::remote::LeafCache::Unknown;

  /// `most`: how many leaves it may READ.
  LeafReads(Footprint& footprint, std::size_t most);

  /// Adds the leaf that has this position of the table, unless it was added already. Returns nullptr if no such leaf is
  /// known, or there is no memory to READ it. `unknown` says whether the former counts as a miss.
  const LeafRead* add(const KnownTable& table, Position at, Unknown unknown);

  /// Runs the READs, and tells the caches what they have found. Returns kNone, or why the transaction must end.
  AbortReason run();
  /// After run(): returns the leaf that covers the position, if it was READ.
  const LeafRead* covering(const KnownTable& table, Position at) const;
  /// Notes the leaf in the node set.
  AbortReason note(const txn::TableCore& table, const LeafRead& leaf);

 private:
  Footprint& footprint_;
  Batch<LeafRead> steps_;
  Batch<const KnownTable*> tables_;  ///< the table of each step
};

/// Remembers the leaves that an owner's answer has told of.
void learn_leaves(const KnownTable& table, std::span<const messages::SeenLeaf> leaves);

/// Makes the place where the entry `value` of a leaf leads the place of the key's record, of which nothing is known
/// yet.
void set_place(Access& access, kvstore::ordered::Value value);

}  // namespace granary::cluster
