#pragma once
// Splits a full leaf, and the interior nodes above it that are full, too.

#include "kvstore/ordered/node.h"

namespace granary::kvstore::ordered {

struct SplitOutcome {
  bool done = false;        ///< false if memory ran out; then nothing has changed
  bool root_split = false;  ///< the layer has a new root
};

/// Adds `entry` at `rank` of the full `leaf`, whose lock the caller holds, by splitting it. Releases the lock in any
/// case. If `tree_root` pointed at a root that splits, it points at the new root afterwards. Reports both leaves.
template <unsigned Width>
SplitOutcome split_and_insert(LeafNode<Width>* leaf, unsigned rank, const Entry& entry, std::atomic<Node*>& tree_root,
                              NodeMemory& memory, NodeChanges* changes);

}  // namespace granary::kvstore::ordered
