#include "src/cluster/transaction/gets.h"

#include <algorithm>

namespace granary::cluster {
namespace {

/// Locks and reads the keys `to_lock` whose places are found without a question to their owners. In the same rounds it
/// reads what it can of the keys `to_read`. Then it finds what is not known yet of all these keys.
AbortReason lock_and_find(Footprint& footprint, Reading& reading, LockedReads& locked_reads,
                          std::span<Access* const> to_read, std::span<Access* const> to_lock) {
  Batch<Access*> placed = footprint.trips.batch<Access*>(to_lock.size());
  AbortReason reason = locked_reads.find_places(to_lock, placed, to_read);
  if (!failed(reason) && !placed.empty()) {
    Batch<Access*> beside = footprint.trips.batch<Access*>(to_read.size() + to_lock.size());
    for (Access* const access : to_read) {
      if (access->table->hashed() || access->lacks_value()) beside.push_back(access);
    }
    for (Access* const access : to_lock) {
      if (access->table->hashed() && std::ranges::find(placed, access) == placed.end()) beside.push_back(access);
    }
    reason = locked_reads.await_log_room();
    if (!failed(reason)) reason = locked_reads.lock_and_read(placed, beside);
  }
  if (failed(reason)) return reason;
  Batch<Access*> left = footprint.trips.batch<Access*>(to_read.size() + to_lock.size());
  for (const std::span<Access* const> some : {to_read, to_lock}) {
    for (Access* const access : some) {
      if (access->unseen() || access->lacks_value()) left.push_back(access);
    }
  }
  return left.empty() ? AbortReason::kNone : reading.find(left);
}

}  // namespace

AbortReason get(Footprint& footprint, Reading& reading, LockedReads& locked_reads, std::span<txn::RemoteGet> gets) {
  Batch<Access*> wanted = footprint.trips.batch<Access*>(gets.size());
  Batch<Access*> to_read = footprint.trips.batch<Access*>(gets.size());
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
    (will_write && may_lock ? to_lock : to_read).push_back(access);
  }
  const AbortReason reason =
      to_lock.empty() ? reading.find(to_read) : lock_and_find(footprint, reading, locked_reads, to_read, to_lock);
  if (failed(reason)) return reason;
  for (std::size_t i = 0; i < gets.size(); ++i) {
    gets[i].found = wanted[i]->is_visible();
    gets[i].value = wanted[i]->visible_value();
  }
  return AbortReason::kNone;
}

}  // namespace granary::cluster
