#pragma once
// Puts secondary indexes in step with their tables again, where a salvaged log has lost transactions. A record and its
// index entries are written together, but each of them shows what the last surviving transaction has made of it.
// Without mending, scans would find an entry that belongs to no record, and a record that lacks its entry could never
// be written again.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <granary/status.h>

#include "recovery/apply.h"
#include "src/cc/worker_state.h"
#include "src/epoch/epoch.h"
#include "src/txn/table_core.h"

namespace granary::recovery {

struct MendedIndex {
  std::string name;
  std::uint64_t removed = 0;   ///< entries that belong to no record
  std::uint64_t added = 0;     ///< entries that were missing
  std::uint64_t unlisted = 0;  ///< records whose entry in a unique index another record has

  bool changed() const { return removed + added + unlisted != 0; }
};

/// Compares all indexes with their tables, mends them, and returns those that were not in step. Holes of `tables` are
/// null. No record is of an epoch after `greatest`. No other thread uses the tables. The memory of `worker` is used.
/// Removed entries are added to `absents`. Nothing is logged: only a checkpoint makes the changes durable. Returns
/// kResourceExhausted if there is no memory, with `limit_name` as what to raise.
Result<std::vector<MendedIndex>> mend_indexes(std::span<txn::TableCore* const> tables, cc::WorkerState& worker,
                                              epoch::Epoch greatest, std::vector<Absent>& absents,
                                              std::string_view limit_name);

}  // namespace granary::recovery
