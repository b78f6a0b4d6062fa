#pragma once
// Taking an empty leaf, and the interior nodes that it leaves without children, out of its layer.

#include "kvstore/ordered/node.h"

namespace granary::kvstore::ordered {

/// The leaf is empty, not the leftmost of its layer, and the caller holds its lock. Its left neighbour takes over its
/// range. Afterwards nothing is locked; true if the layer now has no keys.
template <unsigned Width>
bool unlink_leaf(LeafNode<Width>* leaf, NodeMemory& memory);

}  // namespace granary::kvstore::ordered
