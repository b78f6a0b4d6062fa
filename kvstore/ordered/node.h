#pragma once
// Lays out the nodes of the tree.
//
// Leaves own their range. A leaf covers the positions [low, high) of its layer; low never changes. At every moment the
// leaves of a layer that are not deleted tile all positions, and a key that is there is in the leaf that covers it. A
// reader checks low and high under the leaf's version, so it does not matter how it came there: interior nodes only
// have to lead near. That is why they need no version check (unlike Masstree's, 4.6). Their arrays are changed in place
// under their lock. A reader that meets a half-done shift at worst arrives at a neighbour, notices that, and goes right
// or starts again. The child count, which a reader loads first, bounds the children that it may follow. So every
// pointer that it meets was reachable after it entered its epoch.
//
// Fields are atomics. The holder of the node's lock writes them with store-release, and everyone reads them with
// load-acquire (NodeVersion says what that gives). Exceptions are noted at the field.
//
// Locks are taken in this order, so there is no deadlock: upper layer before lower layer (when an empty layer is
// collected); within a layer leaves before interior nodes; leaves from right to left; interior nodes upwards.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "kvstore/ordered/key.h"
#include "kvstore/ordered/permutation.h"
#include "kvstore/ordered/slice_search.h"
#include "kvstore/ordered/tree.h"
#include "kvstore/ordered/version.h"
#include "src/base/cache_line.h"

namespace granary::kvstore::ordered {

template <typename T>
T get(const std::atomic<T>& field) {
  return field.load(std::memory_order_acquire);
}
template <typename T>
void set(std::atomic<T>& field, std::type_identity_t<T> value) {
  field.store(value, std::memory_order_release);
}

/// The greatest number of interior levels of one layer. A root only splits when it is full, so real trees stay far
/// below.
inline constexpr unsigned kMaxLevels = 64;

struct Node {
  explicit Node(NodeVersion::Word word) : version(word) {}

  NodeVersion version;                 // first, because other nodes READ it at the address of the leaf
  std::atomic<Node*> parent{nullptr};  // an interior node; written by the holder of that parent's lock
};

/// The part of a leaf that callers of the tree know: its address and its version.
struct Leaf : Node {
  using Node::Node;
};

/// The rest of a key that goes on after its slice, with its value. Only the value ever changes: the holder of the lock
/// of the leaf that points here replaces it.
struct Suffix {
  std::atomic<Value> value;
  std::size_t size;

  Suffix(std::string_view bytes, Value initial) : value(initial), size(bytes.size()) {
    std::memcpy(reinterpret_cast<char*>(this + 1), bytes.data(), bytes.size());
  }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(this + 1), size}; }
  static std::size_t bytes_for(std::size_t size) { return sizeof(Suffix) + size; }
};

/// One entry, copied from its leaf. `word` is the value (code ≤ 8), a Suffix* (kSuffixed) or a Node* (kLayer).
struct Entry {
  std::uint64_t slice;
  std::uint64_t word;
  KeyCode code;

  Position position() const { return {slice, order_code(code)}; }
  Suffix* suffix() const { return reinterpret_cast<Suffix*>(word); }
  Node* layer() const { return reinterpret_cast<Node*>(word); }
};

template <unsigned Width>
struct LeafNode : Leaf {
  static_assert(Width >= 2 && Width <= Permutation::kMaxWidth);

  /// Makes a leaf that covers [low, high) and has no entries.
  LeafNode(NodeVersion::Word flags, Position low, Position high)
      : Leaf(flags | NodeVersion::kLeaf),
        low_slice(low.slice),
        low_code(low.code),
        birth(NodeVersion::birth_of(flags)) {
    set_high(high);
  }

  Position low() const { return {low_slice, low_code}; }
  /// Returns the upper end. For a reader it is right only together with an unchanged version, as it may have loaded the
  /// two halves at different times.
  Position high() const { return {get(high_slice), get(high_code)}; }
  void set_high(Position high) {
    set(high_slice, high.slice);
    set(high_code, high.code);
  }
  bool covers(Position at) const { return low() <= at && at < high(); }

  Permutation order() const { return Permutation(get(permutation)); }
  void set_order(Permutation order) { set(permutation, order.word()); }

  Position position(unsigned slot) const { return {get(slices[slot]), order_code(get(codes[slot]))}; }
  Entry entry(unsigned slot) const { return {get(slices[slot]), get(words[slot]), get(codes[slot])}; }
  void set_entry(unsigned slot, const Entry& entry) {
    set(slices[slot], entry.slice);
    set(words[slot], entry.word);
    set(codes[slot], entry.code);
  }

  /// Returns the slot of the entry at this position, or Width. It compares all slots without a branch, as the order
  /// does not matter for equality, then looks whether the slot that fits is in use.
  unsigned slot_of(Permutation order, Position at) const {
    for (unsigned equal = equal_slices(slices, at.slice); equal != 0; equal &= equal - 1) {
      const unsigned slot = static_cast<unsigned>(std::countr_zero(equal));
      if (order_code(get(codes[slot])) == at.code && order.holds(slot)) return slot;
    }
    return Width;
  }

  /// Returns how many entries come before this position. It counts from the end, because many inserts append.
  unsigned rank_of(Permutation order, Position at) const {
    unsigned rank = order.count();
    while (rank > 0 && at <= position(order.slot(rank - 1))) --rank;
    return rank;
  }

  /// Notes where the last insert went. The caller holds the lock.
  void note_insert(unsigned rank) {
    ascending_run = rank == last_rank + 1u ? static_cast<std::uint8_t>(ascending_run + (ascending_run < Width)) : 0;
    last_rank = static_cast<std::uint8_t>(rank);
  }
  /// Whether an insert at this rank would go on with keys that come in order, at the layer's end or between other keys.
  bool goes_on_ascending(unsigned rank) const {
    if (rank == Width && get(next) == nullptr) return true;
    return rank == last_rank + 1u && ascending_run >= Width / 2;
  }

  bool leftmost() const { return low() == kFirstPosition; }

  std::atomic<std::uint64_t> permutation{Permutation::ascending(0).word()};
  const std::uint64_t low_slice;
  std::atomic<std::uint64_t> high_slice;
  std::atomic<KeyCode> codes[Width] = {};
  const KeyCode low_code;
  std::atomic<KeyCode> high_code;
  /// The rank of the last insert, and how many inserts in a row went right after the one before. Only the lock holder
  /// uses them.
  std::uint8_t last_rank = 0;
  std::uint8_t ascending_run = 0;
  /// Tells this leaf from all earlier ones in its block, for nodes that remember where it is (leaf_copy.h).
  const std::uint32_t birth;
  std::atomic<std::uint64_t> slices[Width] = {};
  std::atomic<std::uint64_t> words[Width] = {};
  std::atomic<LeafNode*> next{nullptr};
  /// The left neighbour. The holder of that leaf's lock writes it; when it changes, the writer holds the locks of both
  /// the old one and the new one.
  std::atomic<LeafNode*> prev{nullptr};
};

/// An interior node has children 0…count, with separators between them: child i holds the positions from separator i−1
/// on and below separator i. A separator is the low bound of the leftmost leaf to its right. Separators that are not in
/// use are greater than all others.
template <unsigned Width>
struct InteriorNode : Node {
  /// The number of separators. It is even, so that two fill a vector.
  static constexpr unsigned kSeparators = (Width + 1) / 2 * 2;

  explicit InteriorNode(NodeVersion::Word flags) : Node(flags) {
    for (unsigned i = 0; i < kSeparators; ++i) set_separator(i, kBeyondPosition);
  }

  Position separator(unsigned i) const { return {to_signed_order(get(slices[i])), get(codes[i])}; }
  void set_separator(unsigned i, Position at) {
    set(slices[i], to_signed_order(at.slice));
    set(codes[i], at.code);
  }

  /// Returns which child leads to this position. The result never exceeds the separator count, which is loaded first,
  /// so the child pointer was in use since that load.
  unsigned child_index(Position at) const {
    const unsigned used = get(count);
    const std::uint64_t slice = to_signed_order(at.slice);
    unsigned index = kSeparators - count_greater_slices(slices, slice);
    if (index > used) index = used;
    while (index > 0 && get(slices[index - 1]) == slice && get(codes[index - 1]) > at.code) [[unlikely]]
      --index;
    return index;
  }
  Node* child_for(Position at) const { return get(children[child_index(at)]); }

  bool full() const { return get(count) == kSeparators; }

  // The caller holds the lock, as for everything that stores.
  void adopt(unsigned index, Node* child) {
    set(child->parent, this);
    set(children[index], child);
  }
  /// Adds `right` as the child after the new separator.
  void insert(unsigned index, Position at, Node* right) {
    const unsigned used = get(count);
    for (unsigned i = used; i > index; --i) {
      set(children[i + 1], get(children[i]));
      set_separator(i, separator(i - 1));
    }
    adopt(index + 1, right);
    set_separator(index, at);
    set(count, static_cast<std::uint8_t>(used + 1));
  }
  /// Keeps only the first `used` separators and the children around them.
  void truncate(unsigned used) {
    set(count, static_cast<std::uint8_t>(used));
    for (unsigned i = used; i < kSeparators; ++i) set_separator(i, kBeyondPosition);
  }
  /// Drops a child and the separator on its left. For the first child, drops the separator on its right.
  void erase_child(unsigned index) {
    const unsigned used = get(count);
    for (unsigned i = index; i < used; ++i) set(children[i], get(children[i + 1]));
    for (unsigned i = index == 0 ? 0 : index - 1; i + 1 < used; ++i) set_separator(i, separator(i + 1));
    set_separator(used - 1, kBeyondPosition);
    set(count, static_cast<std::uint8_t>(used - 1));
  }

  std::atomic<std::uint64_t> slices[kSeparators];  // in to_signed_order()
  std::atomic<KeyCode> codes[kSeparators];
  std::atomic<std::uint8_t> count{0};  // how many separators are in use
  std::atomic<Node*> children[kSeparators + 1] = {};
};

static_assert(offsetof(Node, version) == 0);
static_assert(sizeof(LeafNode<15>) == 5 * base::kCacheLine);
static_assert(sizeof(InteriorNode<15>) <= 5 * base::kCacheLine);

/// Returns the size of the block for a node of this kind: whole cache lines, so that slab blocks begin on one.
template <typename AnyNode>
constexpr std::size_t node_bytes() {
  return (sizeof(AnyNode) + base::kCacheLine - 1) / base::kCacheLine * base::kCacheLine;
}

/// Makes a node. Its count of keys goes on where the previous node in its block stopped. Another node of the cluster
/// may still have that one in a node set, where no epoch slot of ours keeps blocks from being used again; it finds
/// another version then. The node is dirty until all of it is there, as other nodes may be reading the block. The
/// constructor's stores are plain ones, and such a reader may see any of them; leaf_copy.h argues why none of that
/// passes for a leaf.
template <typename AnyNode, typename... Arguments>
AnyNode* make_node(NodeMemory& memory, NodeVersion::Word flags, Arguments&&... arguments) {
  void* block = memory.allocate(node_bytes<AnyNode>(), BlockKind::kTreeNode);
  if (block == nullptr) return nullptr;
  const NodeVersion::Word last = static_cast<const Node*>(block)->version.load();
  auto* const node = new (block) AnyNode(NodeVersion::born(flags, last) | NodeVersion::kDirty, arguments...);
  node->version.end_birth();
  return node;
}

inline void retire_node(NodeMemory& memory, Node* node) { memory.retire(node, BlockKind::kTreeNode); }
inline void free_unpublished_node(NodeMemory& memory, Node* node) {
  memory.free_unpublished(node, BlockKind::kTreeNode);
}

inline Suffix* make_suffix(NodeMemory& memory, std::string_view bytes, Value value) {
  void* block = memory.allocate(Suffix::bytes_for(bytes.size()));
  return block == nullptr ? nullptr : new (block) Suffix(bytes, value);
}

/// Returns the entry of a key in its last layer. Its word is 0 if there was no memory for the suffix.
inline Entry make_entry(const LayerKey& key, Value value, NodeMemory& memory) {
  if (!key.goes_on()) return {key.at.slice, value, key.at.code};
  return {key.at.slice, reinterpret_cast<std::uint64_t>(make_suffix(memory, key.suffix(), value)), kSuffixed};
}

}  // namespace granary::kvstore::ordered
