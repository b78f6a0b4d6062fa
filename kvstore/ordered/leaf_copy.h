#pragma once
// A leaf of layer 0 of another node's tree, as READs brought it: the word of its version, its bytes, and the word
// again, in this order.
//
// No epoch slot of the owner keeps the leaf's block for who READs it, so it may be another leaf's or an interior node's
// by now, or in the making. The copy counts (I32) if all of this is true:
//
//   - Both words are equal but for the lock bit, not dirty, not deleted, and a leaf's of layer 0. A version word never
//     comes back (version.h), so nothing has changed between the two but a permutation, by a removal, which is one
//     word. The lines of the READ in between may have come in any order, so each of the two words is needed.
//   - Its birth is the one that its owner told. Each node that is made in a block has a greater count of keys than all
//     before it, and a leaf's birth is the count that it began with. While a node is made, its word is deleted or
//     dirty, or, if the node before it was never published, that one's, whose birth nobody was told. So words and birth
//     are of one leaf.
//
// A leaf of layer 0 stays in its tree, with the same lower end, until it is deleted. So what the copy covers and does
// not have is not in the table, for as long as the leaf has this version.

#include <optional>
#include <span>

#include "kvstore/ordered/tree.h"

namespace granary::kvstore::ordered {

class LeafCopy {
 public:
  static constexpr std::uint32_t kBytes = 320;

  enum class State : std::uint8_t {
    kWhole,
    kChanging,  ///< READ it again
    kGone,      ///< another leaf is there, or none
  };

  /// `bytes` outlive it.
  LeafCopy(std::uint64_t before, const void* bytes, std::uint64_t after)
      : before_(before),
        bytes_(bytes),
        after_(after) {}

  State state(std::uint32_t birth) const;

  // After kWhole. What other nodes' memory says is checked (I26): nothing leads outside of the copy.

  /// For the node set.
  Version version() const;
  LeafRange range() const;
  bool covers(Position at) const;

  struct Found {
    Value value = 0;      ///< 0: no such key
    bool deeper = false;  ///< keys that go on behind this slice are in a layer below, or in a suffix block
  };
  /// The leaf covers the place.
  Found find(Position at) const;
  /// Entries in their order; at most kMostEntries.
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
