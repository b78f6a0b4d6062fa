#include "src/cluster/transaction/gets.h"

namespace granary::cluster {
namespace {

/// Locks and reads the keys `to_lock`, and looks up the hashed keys among `unseen` in the same round. Then it finds the
/// keys of which nothing is known yet: those whose remembered location was another key's, and those of ordered tables.
AbortReason lock_and_find(Footprint& footprint, Reading& reading, LockedReads& locked_reads,
                          std::span<Access* const> unseen, std::span<Access* const> to_lock) {
  Batch<Access*> beside = footprint.trips.batch<Access*>(unseen.size());
  for (Access* const access : unseen) {
    if (access->table->hashed()) beside.push_back(access);
  }
  if (const AbortReason reason = locked_reads.await_log_room(); failed(reason)) return reason;
  if (const AbortReason reason = locked_reads.lock_and_read(to_lock, beside); failed(reason)) return reason;
  Batch<Access*> left = footprint.trips.batch<Access*>(unseen.size() + to_lock.size());
  for (const std::span<Access* const> some : {unseen, to_lock}) {
    for (Access* const access : some) {
      if (access->unseen()) left.push_back(access);
    }
  }
  return left.empty() ? AbortReason::kNone : reading.find(left);
}

}  // namespace

AbortReason get(Footprint& footprint, Reading& reading, LockedReads& locked_reads, std::span<txn::RemoteGet> gets) {
  Batch<Access*> wanted = footprint.trips.batch<Access*>(gets.size());
  Batch<Access*> unseen = footprint.trips.batch<Access*>(gets.size());
  Batch<Access*> to_lock = footprint.trips.batch<Access*>(gets.size());
  const bool may_lock = locked_reads.may_lock();
  for (const txn::RemoteGet& get : gets) {
    Access* access = nullptr;
    if (const AbortReason reason = footprint.open(get.key, access); failed(reason)) return reason;
    wanted.push_back(access);
    access->table->prefetch(get.key.key);
  }
  for (std::size_t i = 0; i < gets.size(); ++i) {
    Access* const access = wanted[i];
    if (!access->note_read()) continue;
    const bool will_write = gets[i].will_write && !gets[i].key.table->is_immutable();
    (will_write && may_lock && locked_reads.use_cached_location(*access) ? to_lock : unseen).push_back(access);
  }
  const AbortReason reason =
      to_lock.empty() ? reading.find(unseen) : lock_and_find(footprint, reading, locked_reads, unseen, to_lock);
  if (failed(reason)) return reason;
  for (std::size_t i = 0; i < gets.size(); ++i) {
    gets[i].found = wanted[i]->is_visible();
    gets[i].value = wanted[i]->visible_value();
  }
  return AbortReason::kNone;
}

}  // namespace granary::cluster
