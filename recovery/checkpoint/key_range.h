#pragma once
// A range of a table's keys that one thread still has to do, and how another takes half of it: at the middle of what
// the first and last key are as numbers, then shrunk to keys that are there, so that common prefixes and gaps cost one
// try.

#include <optional>
#include <string>
#include <string_view>

#include "kvstore/ordered/tree.h"

namespace granary::recovery::checkpoint {

struct KeyRange {
  std::string from;
  bool from_inclusive = true;
  std::string to;
  bool to_inclusive = true;

  kvstore::ordered::Range bounds() const { return {from, from_inclusive, to, to_inclusive, false}; }
};

/// A key with a < key ≤ b about halfway between them as numbers; none if there is none within a few bytes behind what
/// they have in common.
std::optional<std::string> middle(std::string_view a, std::string_view b);

/// From the first key of the tree to its last; none if it is empty. The caller's epoch slot is entered, also below.
std::optional<KeyRange> whole_range(const kvstore::ordered::Tree& tree);

/// Cuts the upper part off: the range keeps at least one key of the tree, the result begins with one. None if the range
/// holds less than two (it may shrink all the same, to what it really holds).
std::optional<KeyRange> split(const kvstore::ordered::Tree& tree, KeyRange* range);

}  // namespace granary::recovery::checkpoint
