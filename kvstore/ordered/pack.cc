// Packs the nodes of each layer. Old nodes are taken apart from left to right while new ones are filled with their
// entries. Interior nodes are freed first, and a leaf is freed before its entries go into new ones. So there are never
// more nodes than there were, and packing takes no memory.

#include "kvstore/ordered/descend.h"
#include "kvstore/ordered/split.h"

namespace granary::kvstore::ordered {
namespace {

/// A layer that grows only at its end.
template <unsigned Width>
class PackedLayer {
 public:
  PackedLayer(NodeVersion::Word top, NodeMemory& memory)
      : memory_(memory),
        last_(make_node<LeafNode<Width>>(memory, NodeVersion::kRoot | top, kFirstPosition, kBeyondPosition)),
        root_(last_) {
    base::always_check(last_ != nullptr, "a node was freed for this one");
  }

  void append(const Entry& entry) {
    last_->version.lock();
    const Permutation order = last_->order();
    if (order.count() < Width) {
      last_->set_entry(order.free_slot(), entry);
      last_->set_order(order.with_insert(order.count()));
      last_->version.unlock();
      return;
    }
    NodeChanges changes;
    const SplitOutcome split = split_and_insert(last_, Width, entry, root_, memory_, &changes);
    base::always_check(split.done, "nodes were freed for those that a split makes");
    last_ = get(last_->next);
  }

  Node* root() const { return get(root_); }

 private:
  NodeMemory& memory_;
  LeafNode<Width>* last_;
  std::atomic<Node*> root_;
};

template <unsigned Width>
void free_interior_nodes(Node* node, NodeMemory& memory) {
  if (node->version.is_leaf()) return;
  auto* const interior = static_cast<InteriorNode<Width>*>(node);
  for (unsigned i = 0; i <= get(interior->count); ++i) free_interior_nodes<Width>(get(interior->children[i]), memory);
  free_unpublished_node(memory, interior);
}

/// Packs one layer. Returns its root, which is a new one unless the layer is a single leaf.
template <unsigned Width>
Node* pack_layer(Node* link, NodeMemory& memory) {
  Node* const root = layer_root(link);
  if (root->version.is_leaf()) return root;
  LeafNode<Width>* leaf = descend<Width>(root, kFirstPosition);
  const NodeVersion::Word top = leaf->version.load() & NodeVersion::kTop;
  free_interior_nodes<Width>(root, memory);
  std::optional<PackedLayer<Width>> packed;
  while (leaf != nullptr) {
    const Permutation order = leaf->order();
    Entry entries[Width];
    for (unsigned rank = 0; rank < order.count(); ++rank) entries[rank] = leaf->entry(order.slot(rank));
    LeafNode<Width>* const next = get(leaf->next);
    free_unpublished_node(memory, leaf);
    if (!packed) packed.emplace(top, memory);
    for (unsigned rank = 0; rank < order.count(); ++rank) packed->append(entries[rank]);
    leaf = next;
  }
  return packed->root();
}

/// Says how far the layers below one layer have been packed.
template <unsigned Width>
struct Cursor {
  explicit Cursor(Node* root) : leaf(descend<Width>(root, kFirstPosition)) {}

  LeafNode<Width>* leaf;
  unsigned rank = 0;
};

}  // namespace

template <unsigned Width>
void BasicTree<Width>::pack(NodeMemory& memory) {
  set(root_, pack_layer<Width>(get(root_), memory));
  std::vector<Cursor<Width>> path{Cursor<Width>(get(root_))};  // no recursion, as a long key has thousands of layers
  while (!path.empty()) {
    Cursor<Width>& at = path.back();
    if (at.leaf == nullptr) {
      path.pop_back();
    } else if (const Permutation order = at.leaf->order(); at.rank == order.count()) {
      at.leaf = get(at.leaf->next);
      at.rank = 0;
    } else {
      const unsigned slot = order.slot(at.rank++);
      const Entry entry = at.leaf->entry(slot);
      if (entry.code != kLayer) continue;
      Node* const root = pack_layer<Width>(entry.layer(), memory);
      set(at.leaf->words[slot], reinterpret_cast<std::uint64_t>(root));
      path.emplace_back(root);  // `at` is void after this
    }
  }
}

template void BasicTree<15>::pack(NodeMemory&);
template void BasicTree<3>::pack(NodeMemory&);

}  // namespace granary::kvstore::ordered
