#pragma once
// Puts one version of a record into a table unless a newer one is there. For recovery, when no reader looks for old
// versions yet.

#include <string_view>

#include "src/cc/worker_state.h"
#include "src/record/tid.h"
#include "src/txn/table_core.h"

namespace granary::recovery::checkpoint {

enum class Loaded : std::uint8_t { kLoaded, kOlder, kOutOfMemory };

/// Loads the version. A slot of the calling thread is entered, and stays entered as long as the hint is used.
Loaded load_record(txn::TableCore& table, record::TidWord tid, std::string_view key, std::string_view value,
                   cc::WorkerState& worker, kvstore::ordered::LeafHint* hint);

}  // namespace granary::recovery::checkpoint
