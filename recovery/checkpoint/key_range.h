#pragma once
// Splits ranges of a table's keys, so that one thread can take half of the range that another still has to do. The
// range is cut in the middle of its first and last key, taken as numbers, and both halves then shrink to keys that are
// there. So a common prefix, or a gap, costs one try.

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

/// Returns a key with a < key ≤ b about halfway between them as numbers. Returns none if there is none within a few
/// bytes after their common prefix.
std::optional<std::string> middle(std::string_view a, std::string_view b);

/// Returns the range from the first key of the tree to its last; none if the tree is empty. The caller's epoch slot is
/// entered, as for split().
std::optional<KeyRange> whole_range(const kvstore::ordered::Tree& tree);

/// Cuts the upper part off the range and returns it. The range keeps at least one key of the tree, and the result
/// begins with a key. Returns none if the range holds fewer than two keys; even then it may shrink to the keys that it
/// really holds.
std::optional<KeyRange> split(const kvstore::ordered::Tree& tree, KeyRange* range);

}  // namespace granary::recovery::checkpoint
