#include "kvstore/ordered/tree.h"

#include "kvstore/ordered/descend.h"

namespace granary::kvstore::ordered {

template <unsigned Width>
BasicTree<Width>::BasicTree(NodeMemory& memory) {
  set(root_,
      make_node<LeafNode<Width>>(memory, NodeVersion::kRoot | NodeVersion::kTop, kFirstPosition, kBeyondPosition));
}

template <unsigned Width>
Version BasicTree<Width>::version_of(const Leaf* leaf) {
  return NodeVersion::key_set(leaf->version.stable());
}

template <unsigned Width>
bool BasicTree<Width>::unchanged(const Leaf* leaf, Version version) {
  return unchanged(leaf->version.load(), version);
}

template <unsigned Width>
const std::atomic<std::uint64_t>& BasicTree<Width>::version_word(const Leaf* leaf) {
  return leaf->version.word();
}

template <unsigned Width>
bool BasicTree<Width>::unchanged(std::uint64_t word, Version version) {
  return (word & NodeVersion::kDirty) == 0 && NodeVersion::key_set(word) == version;
}

template <unsigned Width>
std::optional<LeafRange> BasicTree<Width>::range_of(const Leaf* leaf) {
  const auto& node = static_cast<const LeafNode<Width>&>(*leaf);
  LeafRange range{.low = node.low(), .high = {}, .birth = node.birth};
  for (Backoff backoff;; backoff.pause()) {
    const NodeVersion::Word version = node.version.stable();
    if ((version & NodeVersion::kDeleted) != 0 || (version & NodeVersion::kTop) == 0) return std::nullopt;
    range.high = node.high();
    if (node.version.still(version)) return range;
  }
}

template <unsigned Width>
bool BasicTree<Width>::replace(std::string_view key, Value expected, Value desired) {
  for (Backoff backoff;; backoff.pause()) {
    const Place<Width> place = locate<Width>(root_, key);
    if (place.value != expected) return false;
    LeafNode<Width>& leaf = *place.leaf;
    if (!leaf.version.try_lock_at(place.version)) continue;
    // Removals do not change the version, so the key may have left the slot.
    bool holds = false;
    if (const unsigned slot = leaf.slot_of(leaf.order(), place.key.at); slot != Width) {
      std::atomic<Value>& value = place.key.goes_on() ? leaf.entry(slot).suffix()->value : leaf.words[slot];
      holds = get(value) == expected;
      if (holds) set(value, desired);
    }
    leaf.version.unlock();
    return holds;
  }
}

template std::optional<LeafRange> BasicTree<15>::range_of(const Leaf*);
template std::optional<LeafRange> BasicTree<3>::range_of(const Leaf*);
template BasicTree<15>::BasicTree(NodeMemory&);
template BasicTree<3>::BasicTree(NodeMemory&);
template Version BasicTree<15>::version_of(const Leaf*);
template Version BasicTree<3>::version_of(const Leaf*);
template bool BasicTree<15>::unchanged(const Leaf*, Version);
template bool BasicTree<3>::unchanged(const Leaf*, Version);
template bool BasicTree<15>::unchanged(std::uint64_t, Version);
template bool BasicTree<3>::unchanged(std::uint64_t, Version);
template const std::atomic<std::uint64_t>& BasicTree<15>::version_word(const Leaf*);
template const std::atomic<std::uint64_t>& BasicTree<3>::version_word(const Leaf*);
template bool BasicTree<15>::replace(std::string_view, Value, Value);
template bool BasicTree<3>::replace(std::string_view, Value, Value);

}  // namespace granary::kvstore::ordered
