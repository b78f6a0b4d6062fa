// Verifies the tree's structure, and counts its nodes and keys. It goes from layer to layer with a work list, because
// keys of 64 KiB make thousands of layers. Within a layer it goes recursively.

#include <functional>

#include "kvstore/ordered/descend.h"
#include "kvstore/ordered/tree.h"

namespace granary::kvstore::ordered {
namespace {

template <unsigned Width>
class Walker {
 public:
  /// Returns an error text; it is empty if the tree is right.
  std::string walk(Node* root) {
    layers_.push_back(root);
    while (!layers_.empty() && error_.empty()) {
      Node* const layer = layer_root(layers_.back());
      layers_.pop_back();
      const bool top = statistics_.layers++ == 0;
      previous_ = nullptr;
      layer_entries_ = 0;
      expect(get(layer->parent) == nullptr, layer, "a root has no parent");
      visit(layer, kFirstPosition, kBeyondPosition, true);
      if (previous_ != nullptr) expect(get(previous_->next) == nullptr, previous_, "the last leaf has no next");
      expect(top || layer_entries_ > 0, layer, "a layer below the first has entries");
    }
    return error_;
  }

  const TreeStatistics& statistics() const { return statistics_; }

 private:
  void expect(bool holds, const Node* node, const char* what) {
    if (holds || !error_.empty()) return;
    char address[32];
    std::snprintf(address, sizeof address, "%p", static_cast<const void*>(node));
    error_ = std::string("node ") + address + ": not so: " + what;
  }

  void visit(Node* node, Position low, Position high, bool root) {
    const NodeVersion::Word word = node->version.load();
    expect((word & (NodeVersion::kLocked | NodeVersion::kDirty | NodeVersion::kDeleted)) == 0, node,
           "reachable and nobody works on it");
    expect(node->version.is_root() == root, node, "just the top node of a layer is a root");
    if (!error_.empty()) return;
    if (node->version.is_leaf()) {
      visit_leaf(static_cast<LeafNode<Width>*>(node), low, high);
    } else {
      visit_interior(static_cast<InteriorNode<Width>*>(node), low, high);
    }
  }

  void visit_interior(InteriorNode<Width>* node, Position low, Position high) {
    ++statistics_.interior_nodes;
    statistics_.node_bytes += node_bytes<InteriorNode<Width>>();
    const unsigned count = get(node->count);
    expect(count <= InteriorNode<Width>::kSeparators, node, "no more separators than fit");
    for (unsigned i = count; i < InteriorNode<Width>::kSeparators; ++i) {
      expect(node->separator(i) == kBeyondPosition, node, "separators out of use are beyond every key");
    }
    for (unsigned i = 0; i <= count && error_.empty(); ++i) {
      const Position from = i == 0 ? low : node->separator(i - 1);
      const Position to = i == count ? high : node->separator(i);
      expect(from < to, node, "separators ascend within the node's range");
      Node* const child = get(node->children[i]);
      expect(child != nullptr && get(child->parent) == node, node, "children know their parent");
      if (error_.empty()) visit(child, from, to, false);
    }
  }

  void visit_leaf(LeafNode<Width>* leaf, Position low, Position high) {
    ++statistics_.leaves;
    statistics_.node_bytes += node_bytes<LeafNode<Width>>();
    expect(leaf->low() == low && leaf->high() == high, leaf, "the separators above are the leaf's bounds");
    expect(get(leaf->prev) == previous_, leaf, "prev is the leaf before");
    expect(previous_ == nullptr || get(previous_->next) == leaf, leaf, "next of the leaf before leads here");
    previous_ = leaf;
    const Permutation order = leaf->order();
    expect(order.valid() && order.count() <= Width, leaf, "the permutation is one");
    expect(order.count() > 0 || leaf->leftmost(), leaf, "only the leftmost leaf may be empty");
    for (unsigned rank = 0; rank < order.count() && error_.empty(); ++rank) {
      const Entry entry = leaf->entry(order.slot(rank));
      expect(low <= entry.position() && entry.position() < high, leaf, "entries are within bounds");
      expect(rank == 0 || leaf->position(order.slot(rank - 1)) < entry.position(), leaf, "entries ascend");
      if (error_.empty()) visit_entry(leaf, entry);
    }
  }

  void visit_entry(LeafNode<Width>* leaf, const Entry& entry) {
    ++layer_entries_;
    expect(entry.code <= kLayer && entry.word != 0, leaf, "entries have a known code and a word");
    if (!error_.empty()) return;
    if (entry.code == kLayer) {
      layers_.push_back(entry.layer());
      return;
    }
    ++statistics_.keys;
    if (entry.code == kSuffixed) {
      expect(entry.suffix()->size > 0 && get(entry.suffix()->value) != 0, leaf, "a suffix has bytes and a value");
      statistics_.suffix_bytes += Suffix::bytes_for(entry.suffix()->size);
    } else if (entry.code < kSliceBytes) {
      expect((entry.slice << (8 * entry.code)) == 0, leaf, "a short slice is padded with zeros");
    }
  }

  std::vector<Node*> layers_;
  LeafNode<Width>* previous_ = nullptr;  // in this layer
  std::uint64_t layer_entries_ = 0;
  TreeStatistics statistics_;
  std::string error_;
};

}  // namespace

template <unsigned Width>
std::string BasicTree<Width>::check() const {
  return Walker<Width>().walk(get(root_));
}

template <unsigned Width>
TreeStatistics BasicTree<Width>::statistics() const {
  Walker<Width> walker;
  walker.walk(get(root_));
  return walker.statistics();
}

template std::string BasicTree<15>::check() const;
template std::string BasicTree<3>::check() const;
template TreeStatistics BasicTree<15>::statistics() const;
template TreeStatistics BasicTree<3>::statistics() const;

}  // namespace granary::kvstore::ordered
