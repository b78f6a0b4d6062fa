#include "kvstore/ordered/layer.h"

namespace granary::kvstore::ordered {
namespace {

/// Returns how many layers a LayerChain makes of two keys.
std::size_t layers_below(LayerKey a, LayerKey b) {
  std::size_t layers = 1;
  for (; a.at == b.at; ++layers) {
    a = a.below();
    b = b.below();
  }
  return layers;
}

/// The layers below a slice that two keys share: a leaf with one link for each further slice in common, then
/// a leaf with both. Nobody sees them before the link to the first one is stored.
template <unsigned Width>
class LayerChain {
 public:
  explicit LayerChain(NodeMemory& memory) : memory_(memory) {}

  /// Builds the layers. Returns false if memory ran out; then all of them are freed.
  bool build(LayerKey a, Value a_value, LayerKey b, Value b_value) {
    while (add_leaf()) {
      if (a.at != b.at) return (add_key(a, a_value) && add_key(b, b_value)) || discard();
      link_slice_ = a.at.slice;
      a = a.below();
      b = b.below();
    }
    return discard();
  }

  Node* first() const { return first_; }

  void report(const Leaf* above, NodeChanges* changes) const {
    for (const LeafNode<Width>* leaf = first_; leaf != nullptr; leaf = leaf_below(leaf)) {
      changes->add({leaf, 0, NodeVersion::key_set(leaf->version.load()), above});
    }
  }

 private:
  bool add_leaf() {
    auto* leaf = make_node<LeafNode<Width>>(memory_, NodeVersion::kRoot, kFirstPosition, kBeyondPosition);
    if (leaf == nullptr) return false;
    if (first_ == nullptr) {
      first_ = leaf;
    } else {
      add_entry({link_slice_, reinterpret_cast<std::uint64_t>(static_cast<Node*>(leaf)), kLayer});
    }
    last_ = leaf;
    return true;
  }

  bool add_key(const LayerKey& key, Value value) {
    const Entry entry = make_entry(key, value, memory_);
    if (entry.word == 0) return false;
    add_entry(entry);
    return true;
  }

  void add_entry(const Entry& entry) {
    const Permutation order = last_->order();
    last_->set_entry(order.free_slot(), entry);
    last_->set_order(order.with_insert(last_->rank_of(order, entry.position())));
  }

  bool discard() {
    while (first_ != nullptr) {
      LeafNode<Width>* const leaf = first_;
      const Permutation order = leaf->order();
      first_ = leaf_below(leaf);
      for (unsigned rank = 0; rank < order.count(); ++rank) {
        const Entry entry = leaf->entry(order.slot(rank));
        if (entry.code == kSuffixed) memory_.free_unpublished(entry.suffix());
      }
      free_unpublished_node(memory_, leaf);
    }
    return false;
  }

  static LeafNode<Width>* leaf_below(const LeafNode<Width>* leaf) {
    const Permutation order = leaf->order();
    if (order.count() == 0) return nullptr;
    const Entry entry = leaf->entry(order.slot(0));
    return entry.code == kLayer ? static_cast<LeafNode<Width>*>(entry.layer()) : nullptr;
  }

  NodeMemory& memory_;
  LeafNode<Width>* first_ = nullptr;
  LeafNode<Width>* last_ = nullptr;
  std::uint64_t link_slice_ = 0;
};

/// Locks an empty layer and marks its nodes deleted. It has one leaf, below interior nodes with one child each: the
/// other nodes were unlinked, whole, under this leaf's lock. Returns false, with nothing locked, if the layer is not
/// empty.
template <unsigned Width>
bool delete_empty_layer(Node* link, NodeMemory& memory) {
  LeafNode<Width>* const leaf = descend<Width>(link, kFirstPosition);
  leaf->version.lock();
  const bool empty = leaf->order().count() == 0 && get(leaf->next) == nullptr && leaf->leftmost();
  if (!empty || leaf->version.is_deleted()) {
    leaf->version.unlock();
    return false;
  }
  for (Node* node = leaf;;) {
    const bool root = node->version.is_root();
    Node* const parent = root ? nullptr : lock_parent<Width>(node);
    node->version.mark_deleted();
    node->version.unlock();
    retire_node(memory, node);
    if (root) return true;
    base::debug_check(get(static_cast<InteriorNode<Width>*>(parent)->count) == 0, "an empty layer has one leaf");
    node = parent;
  }
}

}  // namespace

template <unsigned Width>
bool push_down(LeafNode<Width>* leaf, unsigned slot, const LayerKey& key, Value value, NodeMemory& memory,
               NodeChanges* changes) {
  Suffix* const old = leaf->entry(slot).suffix();
  const LayerKey old_key(old->bytes()), new_key = key.below();
  // The leaf is locked, so an exception would leave everybody else waiting. Nothing below needs memory of the system.
  if (!changes->reserve(1 + layers_below(old_key, new_key))) return false;
  LayerChain<Width> chain(memory);
  if (!chain.build(old_key, get(old->value), new_key, value)) return false;

  const Version before = NodeVersion::key_set(leaf->version.load());
  changes->add({leaf, before, NodeVersion::key_set(leaf->version.load() + NodeVersion::kOneKey), nullptr});
  chain.report(leaf, changes);
  leaf->version.begin_change();
  leaf->set_entry(slot, {key.at.slice, reinterpret_cast<std::uint64_t>(chain.first()), kLayer});
  leaf->version.end_change(NodeVersion::kOneKey);
  memory.retire(old);
  return true;
}

/// Descends along the key to the leaf of layer `depth` - 1 with its link. Returns false if some layer on the way has no
/// link for this key.
template <unsigned Width>
bool LinkPath<Width>::descend_to(unsigned depth) {
  for (Backoff backoff;; backoff.pause()) {
    depth_ = 0;
    Place<Width> place;
    place.key = LayerKey(key_);
    Node* node = get(tree_root_);
    while (!search_leaf(descend<Width>(node, place.key.at), &place, &node)) {
      leaves_[++depth_ % kKept] = place.leaf;
      if (depth_ == depth) return true;
      place.key = place.key.below();
    }
    if (place.leaf != nullptr) return false;
  }
}

template <unsigned Width>
Link<Width> LinkPath<Width>::lock(unsigned depth) {
  for (Backoff backoff;; backoff.pause()) {
    if (!knows(depth) && !descend_to(depth)) return {};
    Place<Width> place;
    place.key = LayerKey(key_.substr((depth - 1) * kSliceBytes));
    Node* below = nullptr;
    if (search_leaf(leaves_[depth % kKept], &place, &below)) {
      if (place.leaf != nullptr) return {};
      depth_ = 0;  // that leaf is gone or has split far away
      continue;
    }
    if (!place.leaf->version.try_lock_at(place.version)) continue;
    const unsigned slot = place.leaf->slot_of(place.leaf->order(), place.key.at);
    if (slot != Width && place.leaf->entry(slot).code == kLayer) return {place.leaf, slot};
    place.leaf->version.unlock();  // the layer was collected in between
    return {};
  }
}

template <unsigned Width>
void refresh_link(const std::atomic<Node*>& tree_root, std::string_view key, unsigned depth) {
  const Link<Width> link = LinkPath<Width>(tree_root, key).lock(depth);
  if (link.leaf == nullptr) return;
  Node* const root = layer_root(link.leaf->entry(link.slot).layer());
  set(link.leaf->words[link.slot], reinterpret_cast<std::uint64_t>(root));
  link.leaf->version.unlock();
}

template <unsigned Width>
LeafNode<Width>* collect_layer(LinkPath<Width>* path, unsigned depth, NodeMemory& memory) {
  const Link<Width> link = path->lock(depth);
  if (link.leaf == nullptr) return nullptr;
  if (!delete_empty_layer<Width>(link.leaf->entry(link.slot).layer(), memory)) {
    link.leaf->version.unlock();
    return nullptr;
  }
  const Permutation order = link.leaf->order();
  link.leaf->set_order(order.with_remove(order.rank_of(link.slot)));
  return link.leaf;
}

template bool push_down(LeafNode<15>*, unsigned, const LayerKey&, Value, NodeMemory&, NodeChanges*);
template bool push_down(LeafNode<3>*, unsigned, const LayerKey&, Value, NodeMemory&, NodeChanges*);
template void refresh_link<15>(const std::atomic<Node*>&, std::string_view, unsigned);
template void refresh_link<3>(const std::atomic<Node*>&, std::string_view, unsigned);
template LeafNode<15>* collect_layer(LinkPath<15>*, unsigned, NodeMemory&);
template LeafNode<3>* collect_layer(LinkPath<3>*, unsigned, NodeMemory&);

}  // namespace granary::kvstore::ordered
