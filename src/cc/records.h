#pragma once
// Memory of records, local and shared.

#include <cstdint>
#include <string_view>

#include "src/cc/worker_state.h"

namespace granary::cc {

/// A record that is in no index yet, unborn, with room for a value: of a local table `value_bytes`; of a shared one for the
/// table's greatest, since the record will never move. nullptr at the memory limit.
Record* make_placeholder(WorkerState& worker, std::size_t value_bytes);
Record* make_shared_placeholder(WorkerState& worker, std::string_view key, std::uint32_t max_value_bytes);

/// Stores a value, as recovery does, whose records nobody else reads yet: the store of the TID word publishes, and gives back the
/// lock if there was one.
void fill_record(Record& record, std::string_view key, std::string_view value, TidWord word);

/// Gives its block back. A shared record's keeps incarnation and state for whoever it becomes next (I3).
void free_record(WorkerState& worker, Record* record);

}  // namespace granary::cc
