#pragma once
// Garbage of the engine (Silo 4.8, 4.9): old versions, absent and unborn records, unhooked records, tree nodes.

#include <cstddef>
#include <string_view>

#include "src/cc/access_set.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// Registers an absent record for unhooking once snapshots no longer need what it superseded. `epoch` is that of
/// its TID; `tid` its whole TID word, unlocked.
void register_absent(WorkerState& worker, epoch::Epoch epoch, Record* record, Index* index, TidWord tid,
                     std::string_view key);
/// Registers the placeholder of an insert that has not committed, for unhooking once no transaction is open that may have found it. It
/// superseded nothing, so no snapshot needs it.
void register_unborn(WorkerState& worker, Record* record, Index* index, std::string_view key);
/// Registers an old version that was superseded in `epoch`.
void register_version(WorkerState& worker, epoch::Epoch epoch, Record* version);
/// Registers a record that the index no longer leads to.
void register_unhooked(WorkerState& worker, Record* record);

/// Whether the protocol lets an absent record go that the caller has locked (Protocol::may_leave_index).
bool may_leave_index(Record& record, const WorkerState& worker);

/// What every abort owes: registers the placeholders that the transaction put into indexes (Silo 4.5).
void abandon(AccessSet& access, WorkerState& worker);

/// Frees at most about `budget` items that have become safe. Returns how many; fewer than `budget`: there is no more now. Called by
/// whoever has the worker for itself, with an epoch slot entered. Transactions of the worker may be open.
std::size_t collect_garbage(WorkerState& worker, std::size_t budget);

}  // namespace granary::cc
