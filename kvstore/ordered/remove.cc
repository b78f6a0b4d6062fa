// Removal: the entry leaves the permutation in one store, which changes no version. A leaf that becomes empty goes too,
// unless it is the leftmost of its layer; that one goes with its layer, when nothing else is left in it.

#include "kvstore/ordered/layer.h"
#include "kvstore/ordered/tree.h"
#include "kvstore/ordered/unlink.h"

namespace granary::kvstore::ordered {
namespace {

/// Gives the leaf's lock back, and first disposes of the leaf if it is empty; then perhaps of its layer, which may
/// empty the leaf above it, and so on.
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
    // Removals and replaces do not change the version, so look again.
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
