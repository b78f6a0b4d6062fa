// Insert-if-absent: a search without locks, then the leaf's lock taken at the version that the search saw, so that
// what it found (the key is absent, this leaf covers it) still holds; removals are the only changes in between.

#include <utility>

#include "kvstore/ordered/layer.h"
#include "kvstore/ordered/split.h"
#include "kvstore/ordered/tree.h"
#include "src/base/test_hooks.h"

namespace granary::kvstore::ordered {
namespace {

/// Adds the entry to a leaf that has room; the caller holds its lock.
template <unsigned Width>
void add_entry(LeafNode<Width>* leaf, Permutation order, unsigned rank, const Entry& entry, NodeChanges* changes) {
  const Version before = NodeVersion::key_set(leaf->version.load());
  const NodeVersion::Word count =
      base::injected("insert-keeps-version") ? NodeVersion::kOneShape : NodeVersion::kOneKey;
  leaf->note_insert(rank);
  leaf->version.begin_change();
  leaf->set_entry(order.free_slot(), entry);
  leaf->set_order(order.with_insert(rank));
  leaf->version.end_change(count);
  changes->add({leaf, before, NodeVersion::key_set(leaf->version.load()), nullptr});
}

/// Adds the key to the leaf that the caller has locked, and unlocks it. False: out of memory, nothing changed.
template <unsigned Width>
bool insert_locked(const Place<Width>& place, std::string_view key, Value value, std::atomic<Node*>& tree_root,
                   NodeMemory& memory, NodeChanges* changes) {
  LeafNode<Width>* const leaf = place.leaf;
  const Permutation order = leaf->order();
  if (place.key.goes_on()) {
    // A layer under this slice would have been entered; one key alone may be here.
    if (const unsigned slot = leaf->slot_of(order, place.key.at); slot != Width) {
      const bool done = push_down(leaf, slot, place.key, value, memory, changes);
      leaf->version.unlock();
      return done;
    }
  }
  const Entry entry = make_entry(place.key, value, memory);
  if (entry.word == 0) {
    leaf->version.unlock();
    return false;
  }
  const unsigned rank = leaf->rank_of(order, entry.position());
  if (order.count() < Width) [[likely]] {
    add_entry(leaf, order, rank, entry, changes);
    leaf->version.unlock();
    return true;
  }
  const SplitOutcome split = split_and_insert(leaf, rank, entry, tree_root, memory, changes);
  if (!split.done && entry.code == kSuffixed) memory.free_unpublished(entry.suffix());
  if (split.root_split && place.depth > 0) refresh_link<Width>(tree_root, key, place.depth);
  return split.done;
}

/// As locate(), but begins at the hinted leaf if that one covers the key and holds its place; leaves know their range,
/// so it does not matter how one comes there.
template <unsigned Width>
Place<Width> locate_near(const std::atomic<Node*>& root, std::string_view key, LeafHint* hint) {
  if (hint == nullptr) return locate<Width>(root, key);
  if (hint->leaf != nullptr) {
    auto* const near = static_cast<LeafNode<Width>*>(hint->leaf);
    Place<Width> place;
    place.key = LayerKey(key);
    Node* below = nullptr;
    const bool in_layer_0 = near->covers(place.key.at) && search_leaf(near, &place, &below);
    if (in_layer_0 && place.leaf != nullptr) return place;
  }
  const Place<Width> place = locate<Width>(root, key);
  hint->leaf = place.depth == 0 ? place.leaf : nullptr;
  return place;
}

}  // namespace

template <unsigned Width>
InsertResult BasicTree<Width>::insert_if_absent(std::string_view key, Value value, NodeMemory& memory, LeafHint* hint) {
  InsertResult result;
  for (Backoff backoff;; backoff.pause()) {
    const Place<Width> place = locate_near<Width>(root_, key, hint);
    if (place.value != 0) {
      result.what = InsertResult::What::kPresent;
      result.present = place.value;
      result.at = {place.value, place.leaf, NodeVersion::key_set(place.version)};
      return result;
    }
    if (!place.leaf->version.try_lock_at(place.version)) continue;
    const bool done = insert_locked(place, key, value, root_, memory, &result.changes);
    result.what = done ? InsertResult::What::kInserted : InsertResult::What::kOutOfMemory;
    return result;
  }
}

template InsertResult BasicTree<15>::insert_if_absent(std::string_view, Value, NodeMemory&, LeafHint*);
template InsertResult BasicTree<3>::insert_if_absent(std::string_view, Value, NodeMemory&, LeafHint*);

}  // namespace granary::kvstore::ordered
