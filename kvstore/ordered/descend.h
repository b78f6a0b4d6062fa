#pragma once
// Finds the leaf that covers a position, and a key's place in the trie. Every operation begins with this.

#include "kvstore/ordered/node.h"

namespace granary::kvstore::ordered {

/// Returns the layer's root, from any node on the layer's left edge: a link may lag behind splits of the root. The left
/// edge of a layer lives as long as the layer.
inline Node* layer_root(Node* node) {
  while (!node->version.is_root()) node = get(node->parent);
  return node;
}

template <unsigned Width>
void prefetch_node(const Node* node) {
  base::prefetch_range(node, sizeof(LeafNode<Width>));
}

/// Prefetches the beginning of the memory that a value points to: a record's header and, mostly, its first bytes.
inline void prefetch_value(Value value) {
  base::prefetch_range(reinterpret_cast<const void*>(value), 2 * base::kCacheLine);
}

/// Returns the leaf that covers the position, or one near it if the layer is changing.
template <unsigned Width>
LeafNode<Width>* descend(Node* node, Position at) {
  node = layer_root(node);
  while (!node->version.is_leaf()) {
    node = static_cast<InteriorNode<Width>*>(node)->child_for(at);
    prefetch_node<Width>(node);
  }
  return static_cast<LeafNode<Width>*>(node);
}

/// How many steps to the right a reader makes before it starts again instead. Each step passes a split that is not
/// known in the nodes above yet.
inline constexpr unsigned kMaxStepsRight = 4;

template <unsigned Width>
struct CoveredLeaf {
  LeafNode<Width>* leaf = nullptr;
  NodeVersion::Word version = 0;
};

/// Calls `read(leaf)` on the leaf that covers the position until it has run under one version. Returns the leaf and
/// that version, or a null leaf if the search has to start again at the top.
template <unsigned Width, typename Read>
CoveredLeaf<Width> read_covering(LeafNode<Width>* leaf, Position at, Read&& read) {
  for (unsigned steps_right = 0; leaf != nullptr && steps_right <= kMaxStepsRight;) {
    const NodeVersion::Word version = leaf->version.stable();
    if ((version & NodeVersion::kDeleted) != 0 || at < leaf->low()) return {};
    if (leaf->high() <= at) [[unlikely]] {
      leaf = get(leaf->next);
      ++steps_right;
      continue;
    }
    read(*leaf);
    if (leaf->version.still(version)) [[likely]]
      return {leaf, version};
  }
  return {};
}

/// The place where a key is or would be.
template <unsigned Width>
struct Place {
  LeafNode<Width>* leaf = nullptr;
  NodeVersion::Word version = 0;
  LayerKey key;        ///< the rest of the key in this leaf's layer
  unsigned depth = 0;  ///< how many layers are above
  Value value = 0;     ///< 0 if the key is not there
};

/// Does the part of a search that concerns one leaf. Returns true if the search is over; place->leaf is null if it has
/// to start again. Returns false if it goes on in the layer below, and sets *below to a node of that layer.
template <unsigned Width>
bool search_leaf(LeafNode<Width>* near, Place<Width>* place, Node** below) {
  Entry found{};
  const auto covered = read_covering(near, place->key.at, [&](const LeafNode<Width>& leaf) {
    const unsigned slot = leaf.slot_of(leaf.order(), place->key.at);
    found = slot == Width ? Entry{} : leaf.entry(slot);
  });
  place->leaf = covered.leaf;
  place->version = covered.version;
  place->value = 0;
  if (covered.leaf == nullptr || found.word == 0) return true;
  // Only now that the version was checked, the word is known to belong to the code.
  if (found.code == kLayer) {
    *below = found.layer();
    return false;
  }
  if (found.code == kSuffixed) {
    if (found.suffix()->bytes() == place->key.suffix()) place->value = get(found.suffix()->value);
  } else {
    place->value = found.word;
  }
  return true;
}

template <unsigned Width>
Place<Width> locate(const std::atomic<Node*>& root, std::string_view key) {
  for (Backoff backoff;; backoff.pause()) {
    Place<Width> place;
    place.key = LayerKey(key);
    Node* node = get(root);
    while (!search_leaf(descend<Width>(node, place.key.at), &place, &node)) {
      place.key = place.key.below();
      ++place.depth;
    }
    if (place.leaf != nullptr) [[likely]]
      return place;
  }
}

/// Locks the interior node above `node`, which is locked by the caller and no root. A node's parent changes only under
/// the lock of the present parent, so it is stable once that lock is held.
template <unsigned Width>
InteriorNode<Width>* lock_parent(Node* node) {
  for (;;) {
    Node* parent = get(node->parent);
    parent->version.lock();
    if (get(node->parent) == parent) return static_cast<InteriorNode<Width>*>(parent);
    parent->version.unlock();
  }
}

}  // namespace granary::kvstore::ordered
