#pragma once
// Reads a leaf of layer 0 of another node's tree from a copy that READs have made: the word of its version, its bytes,
// and the word again, in this order.
//
// No epoch slot of the owner keeps the leaf's block for a reader at another node. So the block may hold another leaf or
// an interior node by now, or a node that is being made. The copy counts (I32) if all of this is true:
//
//   - The two words differ at most in the lock bit, are not dirty, not deleted, and are a leaf's of layer 0. A version
//     word never comes back (version.h), so between the two nothing has changed but a permutation, by a removal, which
//     is one word. The lines of the READ in between may have come in any order, so each of the two words is needed.
//   - Its birth is the one that its owner told. Each node that is made in a block has a greater count of keys than all
//     nodes before it, and a leaf's birth is the count that it began with. While a node is made, the word is deleted or
//     dirty. If the previous node was never published, it may also be that node's word, whose birth no other node was
//     told. So words and birth are of one leaf.
//
// A leaf of layer 0 stays in its tree, with the same lower end, until it is deleted. So a key that the copy covers and
// does not have is not in the table, for as long as the leaf has this version.

#include <optional>
#include <span>

#include "kvstore/ordered/tree.h"

namespace granary::kvstore::ordered {

class LeafCopy {
 public:
  static constexpr std::uint32_t kBytes = 320;

  enum class State : std::uint8_t {
    kWhole,
    kChanging,  ///< the leaf was being changed; READ it again
    kGone,      ///< another leaf is there, or none
  };

  /// `bytes` must outlive the copy.
  LeafCopy(std::uint64_t before, const void* bytes, std::uint64_t after)
      : before_(before),
        bytes_(bytes),
        after_(after) {}

  State state(std::uint32_t birth) const;

  // These may be called after kWhole. Bytes from other nodes' memory are checked (I26): nothing leads outside of the
  // copy.

  /// Returns the version for the node set.
  Version version() const;
  LeafRange range() const;
  bool covers(Position at) const;

  struct Found {
    Value value = 0;      ///< 0 if the key is not there
    bool deeper = false;  ///< keys that go on after this slice are in a layer below, or in a suffix block
  };
  /// Finds the entry at a position that the leaf covers.
  Found find(Position at) const;
  /// The greatest number of entries, which come in their order.
  static constexpr unsigned kMostEntries = 15;
  unsigned count() const;
  struct At {
    Position position;
    Found found;
  };
  At entry(unsigned rank) const;

 private:
  std::uint64_t before_;
  const void* bytes_;
  std::uint64_t after_;
};

}  // namespace granary::kvstore::ordered
