#pragma once
// Implements the ordered index: a trie of B+-trees over 8-byte key slices, after Masstree (Mao, Kohler, Morris, EuroSys
// 2012) as Silo uses it (4.6, 4.7).
//
// Keys are byte strings of any length and content. Values are opaque 64-bit words (pointers), which are not 0 and whose
// lowest bit is 0. Readers never write shared memory. Every operation may run concurrently with every other. The caller
// holds an entered epoch slot during the call, and for as long as it uses the result.
//
// For transactions, each operation returns the leaf that it looked at and that leaf's version. If a later
// `version_of(leaf)` differs, the set of keys in that leaf may have changed (a phantom). Updating the value of a
// present key in place (replace) and removing a key do not change the version.

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
  Value value = 0;             ///< 0: the key is not there
  const Leaf* leaf = nullptr;  ///< where the key is or would be
  Version version = 0;         ///< the version of that leaf while it was read
};

/// The part of layer 0 that a leaf covers, for other nodes to remember. `birth` tells it from other leaves in the same
/// place.
struct LeafRange {
  Position low, high;
  std::uint32_t birth = 0;
};

/// A leaf whose version an insert changed. `before` is 0 for a leaf that the insert created. Then `split_from` is the
/// leaf that covered its keys; if the inserter's node set has that one, it must take in the new leaf, too.
struct NodeChange {
  const Leaf* leaf = nullptr;
  Version before = 0;
  Version after = 0;
  const Leaf* split_from = nullptr;
};

/// The leaves that one insert changed: the leaf and its new sibling, or the leaf that got a link and the leaf of each
/// new layer. Two keys that share n whole slices need n layers, so the list can grow, but it hardly ever does.
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

/// A leaf of layer 0 that an earlier operation on the same tree met, where the next one may begin. It may be used as
/// long as the epoch slot stays entered, whatever has become of the leaf. Empty at first.
struct LeafHint {
  Leaf* leaf = nullptr;
};

enum class Direction : std::uint8_t { kForward, kReverse };

/// A range of keys. Forward and reverse scans cover the same keys.
struct Range {
  std::string_view from;  ///< first key
  bool from_inclusive = true;
  std::string_view to;  ///< last key; ignored if to_infinity
  bool to_inclusive = false;
  bool to_infinity = true;  ///< whether the range has no upper end
};

/// Gets the results of a scan. on_leaf is called before the entries of that leaf, even if the leaf has none in the
/// range. If the tree changes under the scan, a leaf may be reported again, perhaps with another version. The first one
/// counts, since entries may already have been delivered under it.
class ScanVisitor {
 public:
  virtual void on_leaf(const Leaf* leaf, Version version) = 0;
  /// Gets an entry. `key` is valid during the call. Returns false to stop the scan.
  virtual bool on_entry(std::string_view key, Value value) = 0;

 protected:
  ~ScanVisitor() = default;
};

struct TreeStatistics {
  std::uint64_t keys = 0, layers = 0, leaves = 0, interior_nodes = 0, suffix_bytes = 0, node_bytes = 0;
};

/// `Width` is the number of entries of a leaf and of separators of an interior node. All users take Tree. The tests
/// also use a tiny width, which forces splits and merges all the time.
template <unsigned Width>
class BasicTree {
 public:
  /// Allocates the root leaf with `memory`, which must live until another NodeMemory of the same pool takes over. If
  /// there is no memory, ok() is false.
  explicit BasicTree(NodeMemory& memory);
  /// Leaves its nodes to the slab pool, which dies with the database.
  ~BasicTree() = default;
  BasicTree(const BasicTree&) = delete;
  BasicTree& operator=(const BasicTree&) = delete;
  bool ok() const { return root_.load(std::memory_order_relaxed) != nullptr; }

  /// Looks up one key.
  Lookup find(std::string_view key) const;

  /// Finds as find() does. It calls `turn` each time that it has begun to fetch what it looks at next, and at last the
  /// record, so that its caller can do something else meanwhile. Whatever changes in the tree then, the result was
  /// right at some moment within the call.
  Lookup find_in_turns(std::string_view key, FunctionRef<void()> turn) const;
  /// Looks up many keys at once: it descends for all keys in turn and prefetches, so that cache misses overlap.
  /// keys.size() == results.size().
  void find_many(std::span<const std::string_view> keys, std::span<Lookup> results) const;

  /// Adds key → value unless the key is there. With a hint, inserts of neighbouring keys descend only once.
  InsertResult insert_if_absent(std::string_view key, Value value, NodeMemory& memory, LeafHint* hint = nullptr);

  /// Points a present key at another value if it still holds `expected`. The leaf's version does not change.
  bool replace(std::string_view key, Value expected, Value desired);

  /// Removes the key if it still holds `expected`; frees leaves, layers and suffixes that become empty.
  bool remove(std::string_view key, Value expected, NodeMemory& memory);

  /// Visits the range in order, leaf by leaf. Each leaf's entries are consistent with its version.
  void scan(const Range& range, Direction direction, ScanVisitor& visitor) const;

  /// Returns the leaf's present version. It waits while an insert or split is under way, which takes a bounded time.
  static Version version_of(const Leaf* leaf);
  /// Whether the leaf's version is still `version`, and no thread is changing the leaf. Never waits.
  static bool unchanged(const Leaf* leaf, Version version);
  /// Returns the word that unchanged() looks at, for HTM regions. The next function says whether it has not changed.
  static const std::atomic<std::uint64_t>& version_word(const Leaf* leaf);
  static bool unchanged(std::uint64_t word, Version version);

  /// Returns the range of a leaf of layer 0; nothing for a leaf of a deeper layer, or one that is gone.
  static std::optional<LeafRange> range_of(const Leaf* leaf);

  /// Moves the entries to as few leaves as can hold them, whatever the order in which they came, and frees the other
  /// nodes at once. It takes no memory. No other thread uses the tree meanwhile, or holds a place in it from before.
  /// Keys and values stay as they are.
  void pack(NodeMemory& memory);

  /// Walks the whole tree without concurrent writers and verifies its structure (order, bounds, links, permutations,
  /// parents, layer prefixes). Returns an empty string, or what is wrong where.
  std::string check() const;
  TreeStatistics statistics() const;

 private:
  // The root of layer 0. Written by the holder of the lock of a root that splits (release), read by everyone (acquire).
  // Never null if ok().
  std::atomic<Node*> root_{nullptr};
};

using Tree = BasicTree<15>;
using TinyTree = BasicTree<3>;

}  // namespace granary::kvstore::ordered
