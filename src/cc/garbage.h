#pragma once
// Keeps and frees the engine's garbage (Silo 4.8, 4.9): old versions, absent and unborn records, unhooked records, tree
// nodes. A commit or an abort registers it in lists of the worker, and collect_garbage() frees what no transaction and
// no snapshot can reach any more (I17).

#include <cstddef>
#include <string_view>

#include "src/cc/access_set.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// Registers an absent record. It is unhooked from its index when snapshots no longer need the version that the removal
/// superseded. `tid` is the record's TID word, unlocked, and `epoch` the epoch of that TID.
void register_absent(WorkerState& worker, epoch::Epoch epoch, Record* record, Index* index, TidWord tid,
                     std::string_view key);
/// Registers the placeholder of an insert that did not commit. It is unhooked when every transaction has ended that may
/// have found it. It superseded no version, so no snapshot needs it.
void register_unborn(WorkerState& worker, Record* record, Index* index, std::string_view key);
/// Registers the record of a key that another node has removed by a write-back of the TID word `tid` (I12). That node
/// cannot do it one-sided, so it asks the owner by message. Does nothing if the record has another TID by now.
void register_removed_by_holder(WorkerState& worker, Index& index, std::string_view key, TidWord tid);
/// Registers an old version that was superseded in `epoch`.
void register_version(WorkerState& worker, epoch::Epoch epoch, Record* version);
/// Registers a record that the index no longer leads to.
void register_unhooked(WorkerState& worker, Record* record);

/// Protocol::may_leave_index() of the worker's protocol. The caller holds the lock bit of `record`, which is absent.
bool may_leave_index(Record& record, const WorkerState& worker);

/// Returns up to which epoch records that were removed may have left their indexes by now.
inline epoch::Epoch unhooked_up_to(const DatabaseState& shared) {
  return shared.settings.snapshots ? shared.epochs.snapshot_reclamation() : shared.epochs.tree_reclamation();
}

/// Registers the placeholders that an aborted transaction has put into indexes (Silo 4.5). Called for every abort.
void abandon(AccessSet& access, WorkerState& worker) noexcept;

/// Frees items that have become safe, about `budget` at most, and returns how many. Fewer than `budget` means that no
/// more are safe now. The caller is the only user of the worker's memory and has entered an epoch slot. Transactions of
/// the worker may be open.
std::size_t collect_garbage(WorkerState& worker, std::size_t budget) noexcept;

}  // namespace granary::cc
