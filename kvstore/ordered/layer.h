#pragma once
// Adds layers to the trie and takes them out, with the links that lead to them.

#include <array>

#include "kvstore/ordered/descend.h"

namespace granary::kvstore::ordered {

/// Replaces the suffixed entry in `slot`, which shares its slice with `key`, by a link to new layers that hold both
/// keys. The caller holds the leaf's lock and keeps it. Returns false if memory ran out; then nothing has changed.
template <unsigned Width>
bool push_down(LeafNode<Width>* leaf, unsigned slot, const LayerKey& key, Value value, NodeMemory& memory,
               NodeChanges* changes);

/// A locked leaf, and the slot of its link to the layer below.
template <unsigned Width>
struct Link {
  LeafNode<Width>* leaf = nullptr;
  unsigned slot = 0;
};

/// The leaves that lead along a key from layer to layer, found by one descent and kept as places to begin from: leaves
/// know their range, and one that is not deleted is still in the layer of its prefix. Without it, taking away the
/// layers of one long key, deepest first, would cost a descent each. It keeps the last few leaves only, and so takes no
/// memory that the system could refuse. Use it within one epoch guard.
template <unsigned Width>
class LinkPath {
 public:
  LinkPath(const std::atomic<Node*>& tree_root, std::string_view key) : tree_root_(tree_root), key_(key) {}

  /// Locks the link to the layer at `depth` (≥ 1) that would hold the key. Returns a null leaf if there is no such
  /// link.
  Link<Width> lock(unsigned depth);

 private:
  static constexpr unsigned kKept = 8;
  bool descend_to(unsigned depth);
  bool knows(unsigned depth) const { return depth <= depth_ && depth + kKept > depth_; }

  const std::atomic<Node*>& tree_root_;
  const std::string_view key_;
  unsigned depth_ = 0;                            // that the descent has come to; 0: nothing is known
  std::array<LeafNode<Width>*, kKept> leaves_{};  // those with the links to the last depths, each at depth % kKept
};

/// Points the link at the present root of that layer after a root split.
template <unsigned Width>
void refresh_link(const std::atomic<Node*>& tree_root, std::string_view key, unsigned depth);

/// Takes the layer at `depth` out of the trie if it is empty. Returns the leaf that held the link, locked, or null if
/// the layer is not empty or gone.
template <unsigned Width>
LeafNode<Width>* collect_layer(LinkPath<Width>* path, unsigned depth, NodeMemory& memory);

}  // namespace granary::kvstore::ordered
