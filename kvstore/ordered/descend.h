#pragma once
// Finding the leaf that covers a position, and a key's place in the trie: what every operation begins with.

#include "kvstore/ordered/node.h"

namespace granary::kvstore::ordered {

/// The layer's root, from any node on its left edge: a link may lag behind splits of the root. The left edge of a
/// layer lives as long as the layer.
inline Node* layer_root(Node* node) {
  while (!node->version.is_root()) node = get(node->parent);
  return node;
}

template <unsigned Width>
void prefetch_node(const Node* node) {
  base::prefetch_range(node, sizeof(LeafNode<Width>));
}

/// Brings the head of what a value points to closer: a record's header and, mostly, its first bytes.
inline void prefetch_value(Value value) {
  base::prefetch_range(reinterpret_cast<const void*>(value), 2 * base::kCacheLine);
}

/// The leaf that covers the position, or one near it if the layer is changing.
template <unsigned Width>
LeafNode<Width>* descend(Node* node, Position at) {
  node = layer_root(node);
  while (!node->version.is_leaf()) {
    node = static_cast<InteriorNode<Width>*>(node)->child_for(at);
    prefetch_node<Width>(node);
  }
  return static_cast<LeafNode<Width>*>(node);
}

/// Steps to the right that a reader makes before it rather starts again: splits that are not yet known above.
inline constexpr unsigned kMaxStepsRight = 4;

template <unsigned Width>
struct CoveredLeaf {
  LeafNode<Width>* leaf = nullptr;
  NodeVersion::Word version = 0;
};

/// Calls `read(leaf)` on the leaf that covers the position until it has run under one version. Returns leaf and
/// version; a null leaf if the search has to start again at the top.
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

/// Where a key is or would be.
template <unsigned Width>
struct Place {
  LeafNode<Width>* leaf = nullptr;
  NodeVersion::Word version = 0;
  LayerKey key;        ///< what is left of it in this leaf's layer
  unsigned depth = 0;  ///< layers above
  Value value = 0;     ///< 0: not there
};

/// One leaf's part of a search: true if it is over (place->leaf is null if it must start again), false if it goes on
/// in the layer below, of which *below is a node.
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
  // Only now, with the version checked, is the word known to belong to the code.
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

/// Locks the interior node above; the caller holds `node`'s lock and `node` is not a root. The parent changes only
/// under the lock of the present one, so it is stable once that lock is held.
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
