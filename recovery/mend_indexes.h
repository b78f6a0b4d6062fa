#pragma once
// Puts secondary indexes in step with their tables again, where a salvaged log has lost transactions: a record and its
// index entries are written together, but each of them shows what the last transaction that is left has made of it. An
// entry that no record has would be found by scans, and a record whose value wants such an entry could never be written
// again.

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
  std::uint64_t removed = 0;   ///< entries that no record has
  std::uint64_t added = 0;     ///< entries that were missing
  std::uint64_t unlisted = 0;  ///< records whose entry in a unique index another record has

  bool changed() const { return removed + added + unlisted != 0; }
};

/// Compares all indexes with their tables, and returns those that were not in step. `tables`: holes are null.
/// `greatest`: no record is of a later epoch. Nobody else uses the tables; `worker`'s memory is used. Removed entries
/// are added to `absents`. Nothing is logged: only a checkpoint makes it durable. kResourceExhausted if there is no
/// memory.
Result<std::vector<MendedIndex>> mend_indexes(std::span<txn::TableCore* const> tables, cc::WorkerState& worker,
                                              epoch::Epoch greatest, std::vector<Absent>& absents);

}  // namespace granary::recovery
