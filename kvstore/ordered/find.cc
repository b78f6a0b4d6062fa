// Looks up single keys.

#include "kvstore/ordered/descend.h"
#include "kvstore/ordered/tree.h"

namespace granary::kvstore::ordered {
namespace {

template <unsigned Width>
Lookup lookup_of(const LeafNode<Width>* leaf, NodeVersion::Word version, Value value) {
  if (value != 0) prefetch_value(value);
  return {value, leaf, NodeVersion::key_set(version)};
}

/// Finds a key that ends in its first slice. Such a key is in layer 0 or nowhere, and its entry holds the value itself.
template <unsigned Width>
Lookup find_short(const std::atomic<Node*>& root, Position at) {
  for (Backoff backoff;; backoff.pause()) {
    Value value = 0;
    const auto covered = read_covering(descend<Width>(get(root), at), at, [&](const LeafNode<Width>& leaf) {
      const unsigned slot = leaf.slot_of(leaf.order(), at);
      value = slot == Width ? 0 : get(leaf.words[slot]);
    });
    if (covered.leaf != nullptr) [[likely]]
      return lookup_of(covered.leaf, covered.version, value);
  }
}

}  // namespace

template <unsigned Width>
Lookup BasicTree<Width>::find(std::string_view key) const {
  if (key.size() <= kSliceBytes) [[likely]]
    return find_short<Width>(root_, LayerKey(key).at);
  const Place<Width> place = locate<Width>(root_, key);
  return lookup_of(place.leaf, place.version, place.value);
}

template Lookup BasicTree<15>::find(std::string_view) const;
template Lookup BasicTree<3>::find(std::string_view) const;

}  // namespace granary::kvstore::ordered
