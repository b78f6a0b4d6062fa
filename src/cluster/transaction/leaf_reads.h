#pragma once
// READs leaves of other nodes' ordered tables that this node has heard of, together in one round.
//
// What the leaves lead to is READ afterwards. A record that was in its leaf when the transaction READ it is not freed before the transaction has
// ended: its owner waits for the e_w of all nodes' transactions before it uses a block again (I7, I13, I17). So what lies there is the key's
// record, or one that was the key's and is not the latest any more, and no incarnation has to be known before.

#include <span>

#include "kvstore/remote/leaf_read.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

using kvstore::ordered::LeafCopy;
using kvstore::ordered::Position;
using kvstore::remote::LeafRead;

class LeafReads {
 public:
  /// Of at most so many leaves.
  LeafReads(Footprint& footprint, std::size_t most);

  /// Adds the leaf that has this place of the table, unless it is among them already. nullptr if none is known.
  const LeafRead* add(const KnownTable& table, Position at);

  /// Runs the READs, and tells the caches what they found. kNone, or why the transaction must end.
  AbortReason run();
  /// After run(): the leaf that covers the place, if it was READ.
  const LeafRead* covering(const KnownTable& table, Position at) const;
  /// Notes the leaf in the node set.
  AbortReason note(const txn::TableCore& table, const LeafRead& leaf);

 private:
  Footprint& footprint_;
  Batch<LeafRead> steps_;
  Batch<const KnownTable*> tables_;  ///< of each step
};

/// Remembers the leaves that an answer told of.
void learn(const KnownTable& table, std::span<const messages::SeenLeaf> leaves);

/// Takes for the key's record what an entry of a leaf leads to; it has to be READ.
void take(Access& access, kvstore::ordered::Value value);

}  // namespace granary::cluster
