#pragma once
// The ordered index: a trie of B+-trees over 8-byte key slices, after Masstree (Mao, Kohler, Morris,
// EuroSys 2012) as Silo uses it (4.6, 4.7).
//
// Keys are byte strings of any length and content; values are opaque non-zero 64-bit words whose lowest bit is 0
// (pointers). Readers never write shared memory. Threads: every operation may run concurrently with every other; the
// caller holds an entered epoch slot during the call and for as long as it uses what the call returned.
//
// For transactions each operation tells which leaf it looked at and that leaf's version: a later
// `version_of(leaf)` that differs means the set of keys in that leaf may have changed (a phantom). Updating the
// value of a present key in place (replace) and removing a key do not change the version.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/function_ref.h>

#include "kvstore/common/node_memory.h"
#include "kvstore/ordered/key.h"

namespace granary::kvstore::ordered {

using Value = std::uint64_t;

/// An opaque leaf of some layer of the trie.
struct Leaf;
struct Node;

/// A leaf's version without its transient lock bits; compare for equality only.
using Version = std::uint64_t;

struct Lookup {
  Value value = 0;             ///< 0: no such key
  const Leaf* leaf = nullptr;  ///< where the key is or would be
  Version version = 0;         ///< of that leaf, while it was read
};

/// The part of layer 0 that a leaf has, for other nodes to remember. `birth` tells it from other leaves in the same
/// place.
struct LeafRange {
  Position low, high;
  std::uint32_t birth = 0;
};

/// A leaf whose version an insert changed. `before` = 0 for a leaf that the insert created: then
/// `split_from` is the leaf that covered its keys (the creator's node set must take it in if it held that one).
struct NodeChange {
  const Leaf* leaf = nullptr;
  Version before = 0;
  Version after = 0;
  const Leaf* split_from = nullptr;
};

/// The leaves that one insert changed: the leaf and its new sibling, or the leaf that got a link and the leaf of each
/// new layer. Two keys that share n whole slices need n layers, so the list can grow; it hardly ever does.
class NodeChanges {
 public:
  std::size_t size() const { return count_; }
  const NodeChange& operator[](std::size_t i) const { return i < kInline ? inline_[i] : more_[i - kInline]; }
  /// Makes room for so many in all, so that add() needs no memory for them. Returns false if the system has none.
  [[nodiscard]] bool reserve(std::size_t size) {
    try {
      if (size > kInline) more_.reserve(size - kInline);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  void add(const NodeChange& change) {
    if (count_ < kInline) {
      inline_[count_] = change;
    } else {
      more_.push_back(change);
    }
    ++count_;
  }

 private:
  static constexpr std::size_t kInline = 4;
  NodeChange inline_[kInline];
  std::size_t count_ = 0;
  std::vector<NodeChange> more_;
};

struct InsertResult {
  enum class What : std::uint8_t { kInserted, kPresent, kOutOfMemory };
  What what = What::kPresent;
  Value present = 0;    ///< the value already there, if kPresent
  Lookup at;            ///< if kPresent: the leaf and version as in find()
  NodeChanges changes;  ///< if kInserted
};

/// A leaf of layer 0 that an earlier operation on the same tree met: where the next one may begin. Good for as long
/// as the epoch slot stays entered, whatever became of the leaf; empty at first.
struct LeafHint {
  Leaf* leaf = nullptr;
};

enum class Direction : std::uint8_t { kForward, kReverse };

/// A key range. Forward and reverse scans cover the same keys.
struct Range {
  std::string_view from;  ///< first key
  bool from_inclusive = true;
  std::string_view to;  ///< last key; ignored if to_infinity
  bool to_inclusive = false;
  bool to_infinity = true;  ///< no upper end
};

/// What a scan calls. on_leaf comes before the entries of that leaf, also when it holds none in the range. When the
/// tree changes under the scan a leaf may be reported again, then perhaps with another version: the first one counts,
/// since entries may already have been delivered under it.
class ScanVisitor {
 public:
  virtual void on_leaf(const Leaf* leaf, Version version) = 0;
  /// `key` is valid during the call. Return false to stop.
  virtual bool on_entry(std::string_view key, Value value) = 0;

 protected:
  ~ScanVisitor() = default;
};

struct TreeStatistics {
  std::uint64_t keys = 0, layers = 0, leaves = 0, interior_nodes = 0, suffix_bytes = 0, node_bytes = 0;
};

/// Width: entries of a leaf and separators of an interior node. Tree is what everyone uses; the tests also
/// force splits and merges all the time with a tiny one.
template <unsigned Width>
class BasicTree {
 public:
  /// Allocates the root leaf with `memory`, which must live as long as no other NodeMemory of the same
  /// pool takes over. Aborts nothing: ok() is false if there was no memory.
  explicit BasicTree(NodeMemory& memory);
  /// Leaves its nodes to the slab pool, which dies with the database.
  ~BasicTree() = default;
  BasicTree(const BasicTree&) = delete;
  BasicTree& operator=(const BasicTree&) = delete;
  bool ok() const { return root_.load(std::memory_order_relaxed) != nullptr; }

  /// Point lookup.
  Lookup find(std::string_view key) const;

  /// As find(), but calls `turn` each time that it has begun to fetch what it looks at next, also at last, for the
  /// record: its caller does something else meanwhile. Whatever changes in the tree then, the answer is one of a moment
  /// within the call.
  Lookup find_in_turns(std::string_view key, FunctionRef<void()> turn) const;
  /// Many point lookups at once: descends for all keys in turn and prefetches, so that cache misses overlap.
  /// keys.size() == results.size().
  void find_many(std::span<const std::string_view> keys, std::span<Lookup> results) const;

  /// Adds key → value unless the key is there. With a hint, inserts of neighbouring keys descend only once.
  InsertResult insert_if_absent(std::string_view key, Value value, NodeMemory& memory, LeafHint* hint = nullptr);

  /// Points a present key at another value if it still holds `expected`; the leaf's version stays.
  bool replace(std::string_view key, Value expected, Value desired);

  /// Removes the key if it still holds `expected`; frees leaves, layers and suffixes that become empty.
  bool remove(std::string_view key, Value expected, NodeMemory& memory);

  /// Visits the range in order, leaf by leaf; each leaf's entries are consistent with its version.
  void scan(const Range& range, Direction direction, ScanVisitor& visitor) const;

  /// The leaf's present version, waiting out a concurrent insert or split (bounded work by its holder).
  static Version version_of(const Leaf* leaf);
  /// True if the leaf's version is still `version` and nobody is changing it; never waits.
  static bool unchanged(const Leaf* leaf, Version version);
  /// The same in two steps, for HTM regions: the word, and what it says.
  static const std::atomic<std::uint64_t>& version_word(const Leaf* leaf);
  static bool unchanged(std::uint64_t word, Version version);

  /// The range of a leaf of layer 0; nothing of a leaf of a deeper layer, or of one that is gone.
  static std::optional<LeafRange> range_of(const Leaf* leaf);

  /// Moves the entries to as few leaves as hold them, whatever the order in which they came, and frees the other nodes
  /// at once. Takes no memory. Nobody else uses the tree meanwhile, or holds a place in it from before. Keys and values
  /// stay as they are.
  void pack(NodeMemory& memory);

  /// Walks the whole tree without concurrent writers and verifies its structure (order, bounds, links, permutations,
  /// parents, layer prefixes). Returns an empty string, or what is wrong where.
  std::string check() const;
  TreeStatistics statistics() const;

 private:
  // Of layer 0. Written by the lock holder of the root that splits (release), read by everyone (acquire). Never null
  // if ok().
  std::atomic<Node*> root_{nullptr};
};

using Tree = BasicTree<15>;
using TinyTree = BasicTree<3>;

}  // namespace granary::kvstore::ordered
