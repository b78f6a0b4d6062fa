#pragma once
// Packs the version of a node into a word: its lock, what kind of node it is, and two counters that tell readers what
// changed.
//
//   63             32 31              8 7 6  5     4      3       2       1       0
//  +-----------------+-----------------+---+-----+------+------+---------+-------+--------+
//  |    keys (32)    |   shape (24)    | 0 | top | leaf | root | deleted | dirty | locked |
//  +-----------------+-----------------+---+-----+------+------+---------+-------+--------+
//
// keys counts the inserts and splits that this leaf has seen: node sets compare this part (Silo 4.6). shape counts
// changes of a leaf's bounds that add no key. A carry from shape into keys costs one needless abort. keys goes on from
// node to node in a block (make_node()), and interior nodes have no leaf bit. So a leaf's version does not come back
// after the leaf is gone. top says that a leaf is of layer 0.
//
// Readers and writers meet in this way. A writer holds `locked`, sets `dirty` before the first store that a reader
// could misread, and clears it together with counting. Every field of a node is stored with release and loaded with
// acquire. So a reader that saw any store of a change also sees the dirty bit, or a later count, when it loads the
// version word again after its other loads. Equal words before and after thus mean that everything that was read
// existed at once. `locked` is not compared: a holder that has not set dirty has changed nothing but a permutation (a
// removal) or a value (a replacement), each by one atomic store. Interior nodes are never dirty once they are
// published: see InteriorNode.

#include <atomic>
#include <cstdint>

#include "kvstore/common/backoff.h"
#include "src/base/check.h"
#include "src/base/line_table.h"

namespace granary::kvstore::ordered {

class NodeVersion {
 public:
  using Word = std::uint64_t;

  static constexpr Word kLocked = 1;
  static constexpr Word kDirty = 2;
  static constexpr Word kDeleted = 4;
  static constexpr Word kRoot = 8;
  static constexpr Word kLeaf = 16;
  static constexpr Word kTop = 32;
  static constexpr Word kUnused = Word{3} << 6;
  static constexpr Word kOneShape = Word{1} << 8;
  static constexpr Word kShapeMask = ((Word{1} << 24) - 1) << 8;
  static constexpr Word kOneKey = Word{1} << 32;
  static constexpr Word kKeysMask = ~((Word{1} << 32) - 1);
  static_assert((kLocked ^ kDirty ^ kDeleted ^ kRoot ^ kLeaf ^ kTop ^ kUnused ^ kShapeMask ^ kKeysMask) == ~Word{0},
                "the fields tile the word");

  /// Returns the bits that node sets keep. They are never 0, because a leaf's flag is set.
  static constexpr Word key_set(Word word) { return word & (kKeysMask | kDeleted | kLeaf); }

  /// Returns the first word of a node with these flags, in a block whose previous node had `last`; zero if there was
  /// none.
  static constexpr Word born(Word flags, Word last) { return flags | ((last & kKeysMask) + kOneKey); }

  /// Returns the part of a node's first word that tells the node from all others in the same block: its first count of
  /// keys.
  static constexpr std::uint32_t birth_of(Word word) { return static_cast<std::uint32_t>(word >> 32); }

  explicit NodeVersion(Word word) : word_(word) {}

  Word load() const { return word_.load(std::memory_order_acquire); }
  const std::atomic<Word>& word() const { return word_; }
  bool is_leaf() const { return (load() & kLeaf) != 0; }
  bool is_root() const { return (load() & kRoot) != 0; }
  bool is_deleted() const { return (load() & kDeleted) != 0; }

  /// Waits until no change is under way. Returns the word without the lock bit.
  Word stable() const {
    Word word = load();
    for (Backoff backoff; (word & kDirty) != 0; word = load()) [[unlikely]]
      backoff.pause();
    return word & ~kLocked;
  }
  /// Whether everything that was read since stable() returned `seen` was there at once.
  bool still(Word seen) const { return (load() & ~kLocked) == seen; }

  /// Takes the lock if nothing but removals and replacements happened since stable() returned `seen`. Acquire pairs
  /// with the release store of the previous holder's unlock().
  bool try_lock_at(Word seen) {
    const base::lines::Store noticed(&word_);
    return word_.compare_exchange_strong(seen, seen | kLocked, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void lock() {
    for (Backoff backoff;; backoff.pause()) {
      Word word = word_.load(std::memory_order_relaxed);
      if ((word & kLocked) == 0 && try_lock_at(word)) return;
    }
  }

  /// Ends the making of a node that was dirty when it was born. Release: a reader that sees the word without the dirty
  /// bit sees the whole node (leaf_copy.h).
  void end_birth() { word_.store(word_.load(std::memory_order_relaxed) & ~kDirty, std::memory_order_release); }

  // The lock holder calls these. No other thread stores to the word meanwhile.
  void begin_change() { store(held() | kDirty); }
  void end_change(Word count) { store((held() & ~kDirty) + count); }
  void mark_deleted() { store(held() | kDeleted); }
  void clear_root() { store(held() & ~kRoot); }
  void unlock() { store(held() & ~kLocked); }

 private:
  Word held() const {
    const Word word = word_.load(std::memory_order_relaxed);
    base::debug_check((word & kLocked) != 0, "a version word changes under its lock only");
    return word;
  }
  void store(Word word) {
    const base::lines::Store noticed(&word_);
    word_.store(word, std::memory_order_release);
  }

  // Written by the lock holder, and by the CAS by which a thread becomes the holder; read by everyone.
  std::atomic<Word> word_;
};

}  // namespace granary::kvstore::ordered
