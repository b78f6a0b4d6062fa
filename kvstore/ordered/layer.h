#pragma once
// Layers of the trie coming and going, and the links that lead to them.

#include "kvstore/ordered/descend.h"

namespace granary::kvstore::ordered {

/// Replaces the suffixed entry in `slot`, which shares its slice with `key`, by a link to new layers that hold both.
/// The caller holds the leaf's lock and keeps it. False: out of memory, nothing changed.
template <unsigned Width>
bool push_down(LeafNode<Width>* leaf, unsigned slot, const LayerKey& key, Value value, NodeMemory& memory,
               NodeChanges* changes);

/// Points the link at the present root of that layer, after a root split.
template <unsigned Width>
void refresh_link(const std::atomic<Node*>& tree_root, std::string_view key, unsigned depth);

/// Takes the layer out of the trie if it is empty. Returns the leaf that held the link, locked, or null if the
/// layer is not empty or gone.
template <unsigned Width>
LeafNode<Width>* collect_layer(const std::atomic<Node*>& tree_root, std::string_view key, unsigned depth,
                               NodeMemory& memory);

}  // namespace granary::kvstore::ordered
