// Takes an empty leaf out of its layer. Its range goes to its left neighbour, whose upper bound grows. The neighbour's
// set of keys stays, and so does its version for node sets. In the nodes above, the leaf's separator disappears. If the
// leaf was the first child of the node that keeps children, then the separator further up that led to it changes to
// that of the node's next child. So separators remain equal to the low bound of the leaf that they lead to.

#include "kvstore/ordered/unlink.h"

#include "kvstore/ordered/descend.h"

namespace granary::kvstore::ordered {
namespace {

template <unsigned Width>
class Unlink {
 public:
  Unlink(LeafNode<Width>* leaf, NodeMemory& memory) : leaf_(leaf), memory_(memory) {}

  bool run() {
    lock_left();
    lock_path();
    hand_over_range();
    cut_above();
    const bool layer_empty = left_->leftmost() && get(left_->next) == nullptr && left_->order().count() == 0;
    leaf_->version.unlock();
    left_->version.unlock();
    for (unsigned level = 0; level < levels_; ++level) path_[level]->version.unlock();
    retire_node(memory_, leaf_);
    for (unsigned level = 0; level < childless_; ++level) retire_node(memory_, path_[level]);
    return layer_empty;
  }

 private:
  using Interior = InteriorNode<Width>;

  /// Locks the left neighbour. `prev` changes only under the lock of the leaf that it points to, so it is stable once
  /// that lock is held.
  void lock_left() {
    for (;;) {
      left_ = get(leaf_->prev);
      left_->version.lock();
      if (get(leaf_->prev) == left_) return;
      left_->version.unlock();
    }
  }

  /// Locks the nodes that lose their only child, the node that keeps children, and further nodes up to the one whose
  /// separator led to the leaf. There is one, because the leaf is not the leftmost.
  void lock_path() {
    bool keeps_children = false;
    for (Node* node = leaf_;;) {
      Interior* const parent = lock_parent<Width>(node);
      base::always_check(levels_ < kMaxLevels, "a layer of the index is not as deep as this");
      path_[levels_++] = parent;
      const unsigned index = parent->child_index(leaf_->low());
      base::debug_check(get(parent->children[index]) == node, "separators lead to the leaf");
      if (!keeps_children) {
        keeps_children = get(parent->count) > 0;
        if (!keeps_children) ++childless_;
      }
      if (keeps_children && index > 0) return;
      node = parent;
    }
  }

  void hand_over_range() {
    LeafNode<Width>* const right = get(leaf_->next);
    leaf_->version.mark_deleted();
    left_->version.begin_change();
    left_->set_high(leaf_->high());
    set(left_->next, right);
    if (right != nullptr) set(right->prev, left_);
    left_->version.end_change(NodeVersion::kOneShape);
  }

  void cut_above() {
    for (unsigned level = 0; level < childless_; ++level) path_[level]->version.mark_deleted();
    Interior* const keeper = path_[childless_];
    const unsigned index = keeper->child_index(leaf_->low());
    if (index == 0) {
      Interior* const upper = path_[levels_ - 1];
      upper->set_separator(upper->child_index(leaf_->low()) - 1, keeper->separator(0));
    }
    keeper->erase_child(index);
  }

  LeafNode<Width>* const leaf_;
  NodeMemory& memory_;
  LeafNode<Width>* left_ = nullptr;
  Interior* path_[kMaxLevels];  // locked, from the leaf's parent upwards
  unsigned levels_ = 0;
  unsigned childless_ = 0;  // how many of them go with the leaf
};

}  // namespace

template <unsigned Width>
bool unlink_leaf(LeafNode<Width>* leaf, NodeMemory& memory) {
  return Unlink<Width>(leaf, memory).run();
}

template bool unlink_leaf(LeafNode<15>*, NodeMemory&);
template bool unlink_leaf(LeafNode<3>*, NodeMemory&);

}  // namespace granary::kvstore::ordered
