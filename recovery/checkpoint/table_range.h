#pragma once
// The part of a table that one thread still has to do, and how another takes half of it: of an ordered table a range of
// keys, of one with a hash index a range of buckets.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "recovery/checkpoint/key_range.h"
#include "src/cc/index.h"

namespace granary::recovery::checkpoint {

/// Buckets [from, to) of a main header, and single keys of buckets before. A key that the snapshot sees stays in its
/// bucket as long as the snapshot is pinned, and the main header stays for the time of a checkpoint.
struct BucketRange {
  std::uint64_t from = 0, to = 0;
  std::vector<std::string> keys;
};

using TableRange = std::variant<KeyRange, BucketRange>;

/// All of the table; none if that is nothing. The caller's epoch slot is entered, also below.
std::optional<TableRange> whole_range(cc::Index& index);

/// Cuts off about half; none if there is not enough left (the range may shrink all the same, to what it really holds).
std::optional<TableRange> split(cc::Index& index, TableRange* range);

}  // namespace granary::recovery::checkpoint
