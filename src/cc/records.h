#pragma once
// Makes and frees records, local and shared ones. Transactions make placeholders, recovery fills records, and garbage
// collection frees them.

#include <cstdint>
#include <string_view>

#include "src/cc/worker_state.h"

namespace granary::cc {

/// Makes an unborn record that is in no index yet; nullptr at the memory limit. The record of a local table has room
/// for a value of `value_bytes`. The record of a shared table has room for the table's greatest value, since it will
/// never move (I3).
Record* make_placeholder(WorkerState& worker, std::size_t value_bytes);
Record* make_shared_placeholder(WorkerState& worker, std::string_view key, std::uint32_t max_value_bytes);

/// Stores a value and its TID word in a record that no other thread reads yet. Recovery uses it. The store of the TID
/// word publishes the value, and releases the lock bit if it was set.
void fill_record(Record& record, std::string_view key, std::string_view value, TidWord word);

/// Gives the record's block back. The block of a shared record keeps its incarnation and state word for its next user
/// (I3).
void free_record(WorkerState& worker, Record* record);

}  // namespace granary::cc
