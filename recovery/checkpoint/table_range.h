#pragma once
// Splits the part of a table that one thread still has to do, so that another thread can take half of it. The part is a
// range of keys of an ordered table, or a range of buckets of a table with a hash index.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "recovery/checkpoint/key_range.h"
#include "src/cc/index.h"

namespace granary::recovery::checkpoint {

/// The buckets [from, to) of a main header, and single keys that are left of earlier buckets. A key that the snapshot
/// sees stays in its bucket as long as the snapshot is pinned, and the main header stays while the checkpoint runs.
struct BucketRange {
  std::uint64_t from = 0, to = 0;
  std::vector<std::string> keys;
};

using TableRange = std::variant<KeyRange, BucketRange>;

/// Returns all of the table; none if the table is empty. The caller's epoch slot is entered, as for split().
std::optional<TableRange> whole_range(cc::Index& index);

/// Cuts off about half and returns it. Returns none if there is not enough left; even then the range may shrink to what
/// it really holds.
std::optional<TableRange> split(cc::Index& index, TableRange* range);

}  // namespace granary::recovery::checkpoint
