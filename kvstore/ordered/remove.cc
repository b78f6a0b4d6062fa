// Removes keys. One store takes the entry out of the permutation, which changes no version. A leaf that becomes empty
// is taken out, too, unless it is the leftmost of its layer. That leaf goes with its layer, when nothing else is left
// in the layer.

#include "kvstore/ordered/layer.h"
#include "kvstore/ordered/tree.h"
#include "kvstore/ordered/unlink.h"

namespace granary::kvstore::ordered {
namespace {

/// Unlocks the leaf, and takes it out of its layer if it is empty. If that leaves the layer empty, takes out the layer,
/// too. That may empty the leaf above it, and so on.
template <unsigned Width>
void unlock_or_dispose(LeafNode<Width>* leaf, const std::atomic<Node*>& tree_root, std::string_view key, unsigned depth,
                       NodeMemory& memory) {
  LinkPath<Width> links(tree_root, key);
  while (leaf != nullptr) {
    bool layer_empty = false;
    if (leaf->order().count() != 0) {
      leaf->version.unlock();
    } else if (!leaf->leftmost()) {
      layer_empty = unlink_leaf(leaf, memory);
    } else {
      layer_empty = get(leaf->next) == nullptr;
      leaf->version.unlock();
    }
    if (!layer_empty || depth == 0) return;
    leaf = collect_layer(&links, depth--, memory);
  }
}

}  // namespace

template <unsigned Width>
bool BasicTree<Width>::remove(std::string_view key, Value expected, NodeMemory& memory) {
  for (Backoff backoff;; backoff.pause()) {
    const Place<Width> place = locate<Width>(root_, key);
    if (place.value == 0 || place.value != expected) return false;
    LeafNode<Width>* const leaf = place.leaf;
    if (!leaf->version.try_lock_at(place.version)) continue;
    // Removals and replacements do not change the version, so the slot has to be looked up again.
    const Permutation order = leaf->order();
    const unsigned slot = leaf->slot_of(order, place.key.at);
    const Entry entry = slot == Width ? Entry{} : leaf->entry(slot);
    const Value value = entry.word == 0 ? 0 : entry.code == kSuffixed ? get(entry.suffix()->value) : entry.word;
    if (value != expected) {
      leaf->version.unlock();
      return false;
    }
    leaf->set_order(order.with_remove(order.rank_of(slot)));
    if (entry.code == kSuffixed) memory.retire(entry.suffix());
    unlock_or_dispose(leaf, root_, key, place.depth, memory);
    return true;
  }
}

template bool BasicTree<15>::remove(std::string_view, Value, NodeMemory&);
template bool BasicTree<3>::remove(std::string_view, Value, NodeMemory&);

}  // namespace granary::kvstore::ordered
