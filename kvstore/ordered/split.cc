// A split locks the leaf, every full ancestor and the first that is not full, then allocates all nodes it needs, and
// only then changes anything: out of memory leaves the tree as it was. Readers go on meanwhile; only the leaf is
// dirty, while its upper part moves. New nodes are born locked, so nobody splits them before they have a parent.

#include "kvstore/ordered/split.h"

#include <algorithm>

#include "kvstore/ordered/descend.h"

namespace granary::kvstore::ordered {
namespace {

template <unsigned Width>
class Split {
 public:
  Split(LeafNode<Width>* leaf, unsigned rank, const Entry& entry, std::atomic<Node*>& tree_root, NodeMemory& memory)
      : leaf_(leaf),
        rank_(rank),
        tree_root_(tree_root),
        memory_(memory) {
    const Permutation order = leaf->order();
    for (unsigned i = 0; i < Width; ++i) entries_[i + (i >= rank)] = leaf->entry(order.slot(i));
    entries_[rank] = entry;
    // Keys that come in order would leave half-full leaves behind, so what is below them stays together (Masstree 4.3).
    ascending_ = leaf->goes_on_ascending(rank);
    keep_ = ascending_ ? std::min(rank + 1, Width) : (Width + 1) / 2;
  }

  SplitOutcome run(NodeChanges* changes) {
    lock_path();
    const bool enough = allocate();
    if (enough) {
      const NodeVersion::Word before = leaf_->version.load();
      split_leaf();
      changes->add({leaf_, NodeVersion::key_set(before), NodeVersion::key_set(leaf_->version.load()), nullptr});
      changes->add({sibling_, 0, NodeVersion::key_set(sibling_->version.load()), leaf_});
      link_above();
    }
    unlock_path();
    return {enough, enough && root_splits_};
  }

 private:
  using Interior = InteriorNode<Width>;

  void lock_path() {
    Node* node = leaf_;
    while (!node->version.is_root()) {
      Interior* parent = lock_parent<Width>(node);
      base::always_check(levels_ < kMaxLevels, "a layer of the index is not as deep as this");
      path_[levels_++] = parent;
      if (!parent->full()) return;
      node = parent;
    }
    root_splits_ = true;
  }

  bool allocate() {
    const NodeVersion::Word layer = leaf_->version.load() & NodeVersion::kTop;
    sibling_ =
        make_node<LeafNode<Width>>(memory_, NodeVersion::kLocked | layer, entries_[keep_].position(), leaf_->high());
    if (sibling_ == nullptr) return false;
    // One for each full ancestor: all but the last of the path, or all and a new root.
    const unsigned wanted = root_splits_ ? levels_ + 1 : levels_ - 1;
    for (; fresh_count_ < wanted; ++fresh_count_) {
      const bool root = root_splits_ && fresh_count_ == levels_;
      fresh_[fresh_count_] =
          make_node<Interior>(memory_, NodeVersion::kLocked | (root ? NodeVersion::kRoot : NodeVersion::Word{0}));
      if (fresh_[fresh_count_] == nullptr) return discard();
    }
    return true;
  }

  bool discard() {
    free_unpublished_node(memory_, sibling_);
    sibling_ = nullptr;
    while (fresh_count_ > 0) free_unpublished_node(memory_, fresh_[--fresh_count_]);
    return false;
  }

  /// The sibling is complete before the leaf gives up its range, and the leaf is dirty while it does.
  void split_leaf() {
    for (unsigned i = keep_; i <= Width; ++i) sibling_->set_entry(i - keep_, entries_[i]);
    sibling_->set_order(Permutation::ascending(Width + 1 - keep_));
    LeafNode<Width>* const next = get(leaf_->next);
    set(sibling_->next, next);
    set(sibling_->prev, leaf_);

    leaf_->version.begin_change();
    rewrite_lower_part();
    leaf_->set_high(sibling_->low());
    set(leaf_->next, sibling_);
    if (next != nullptr) set(next->prev, sibling_);
    leaf_->version.end_change(NodeVersion::kOneKey);
  }

  /// What stays in the leaf keeps its slots, apart from the new entry, which takes one that became free.
  void rewrite_lower_part() {
    Permutation order = leaf_->order().with_count(keep_);
    if (rank_ < keep_) {
      order = order.with_count(keep_ - 1);
      leaf_->set_entry(order.free_slot(), entries_[rank_]);
      order = order.with_insert(rank_);
    }
    leaf_->set_order(order);
    leaf_->note_insert(rank_);
    if (rank_ >= keep_) {
      // Whatever run this insert is part of goes on in the sibling.
      sibling_->last_rank = static_cast<std::uint8_t>(rank_ - keep_);
      sibling_->ascending_run = leaf_->ascending_run;
    }
  }

  /// Bottom-up: each level takes the separator and right node that the one below gives it.
  void link_above() {
    Position separator = sibling_->low();
    Node* right = sibling_;
    for (unsigned level = 0; level < levels_; ++level) {
      Interior* parent = path_[level];
      const unsigned index = parent->child_index(separator);
      if (!parent->full()) {
        parent->insert(index, separator, right);
        return;
      }
      separator = split_interior(parent, fresh_[level], index, separator, right);
      right = fresh_[level];
    }
    Node* const old_root = levels_ == 0 ? static_cast<Node*>(leaf_) : path_[levels_ - 1];
    Interior* const root = fresh_[levels_];
    root->adopt(0, old_root);
    root->insert(0, separator, right);
    // The new root is complete before the old one stops being one: climbing readers always find a root. All under the
    // old root's lock, so that roots are published in the order in which they were made.
    old_root->version.clear_root();
    if (get(tree_root_) == old_root) set(tree_root_, root);
  }

  /// Moves the upper part of a full node to `fresh`; returns the separator between the two.
  Position split_interior(Interior* node, Interior* fresh, unsigned index, Position separator, Node* right) {
    Position separators[Interior::kSeparators + 1];
    Node* children[Interior::kSeparators + 2];
    children[0] = get(node->children[0]);
    for (unsigned i = 0; i < Interior::kSeparators; ++i) {
      separators[i + (i >= index)] = node->separator(i);
      children[i + 1 + (i >= index)] = get(node->children[i + 1]);
    }
    separators[index] = separator;
    children[index + 1] = right;

    const unsigned keep =
        ascending_ && index == Interior::kSeparators ? Interior::kSeparators : (Interior::kSeparators + 1) / 2;
    fresh->adopt(0, children[keep + 1]);
    for (unsigned i = keep + 1; i <= Interior::kSeparators; ++i)
      fresh->insert(i - keep - 1, separators[i], children[i + 1]);
    if (index < keep) {
      node->truncate(keep - 1);
      node->insert(index, separator, right);
    } else {
      node->truncate(keep);
    }
    return separators[keep];
  }

  void unlock_path() {
    leaf_->version.unlock();
    for (unsigned level = 0; level < levels_; ++level) path_[level]->version.unlock();
    for (unsigned i = 0; i < fresh_count_; ++i) fresh_[i]->version.unlock();
    if (sibling_ != nullptr) sibling_->version.unlock();
  }

  LeafNode<Width>* const leaf_;
  const unsigned rank_;
  std::atomic<Node*>& tree_root_;
  NodeMemory& memory_;
  Entry entries_[Width + 1];  // those of the leaf and the new one, in order
  bool ascending_ = false;
  unsigned keep_ = 0;  // how many of them stay
  LeafNode<Width>* sibling_ = nullptr;
  Interior* path_[kMaxLevels];  // locked, from the leaf's parent upwards
  unsigned levels_ = 0;
  bool root_splits_ = false;
  Interior* fresh_[kMaxLevels + 1];  // right sibling of path_[i]; the last one may be a new root
  unsigned fresh_count_ = 0;
};

}  // namespace

template <unsigned Width>
SplitOutcome split_and_insert(LeafNode<Width>* leaf, unsigned rank, const Entry& entry, std::atomic<Node*>& tree_root,
                              NodeMemory& memory, NodeChanges* changes) {
  return Split<Width>(leaf, rank, entry, tree_root, memory).run(changes);
}

template SplitOutcome split_and_insert(LeafNode<15>*, unsigned, const Entry&, std::atomic<Node*>&, NodeMemory&,
                                       NodeChanges*);
template SplitOutcome split_and_insert(LeafNode<3>*, unsigned, const Entry&, std::atomic<Node*>&, NodeMemory&,
                                       NodeChanges*);

}  // namespace granary::kvstore::ordered
