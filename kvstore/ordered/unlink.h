#pragma once
// Takes an empty leaf, and the interior nodes that it leaves without children, out of its layer.

#include "kvstore/ordered/node.h"

namespace granary::kvstore::ordered {

/// Unlinks the leaf, which is empty, is not the leftmost of its layer, and is locked by the caller. Its left neighbour
/// takes over its range. Afterwards nothing is locked. Returns whether the layer has no keys now.
template <unsigned Width>
bool unlink_leaf(LeafNode<Width>* leaf, NodeMemory& memory);

}  // namespace granary::kvstore::ordered
