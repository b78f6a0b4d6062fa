#include "src/cluster/transaction/locked_reads.h"

#include "src/base/test_hooks.h"
#include "src/cc/log_entry.h"

namespace granary::cluster {
namespace {

/// Notes what an x-lock has READ together with the lock.
void adopt_locked_read(Access& access, const XLock& lock) {
  access.record.set_whole_incarnation(lock.incarnation());
  const record::TidWord tid = base::injected("locked-read-sees-removed")
                                  ? record::version_word(record::tid_of(lock.tid()), /*removed=*/false)
                                  : lock.tid();
  const std::optional<std::string_view> value = record::is_absent(tid) ? std::string_view() : lock.value();
  access.seen.note_version(tid, record::kFree, value);
  if (value) access.lock.version = {.tid = lock.tid(), .previous = lock.previous(), .value = *value};
}

}  // namespace

bool LockedReads::use_cached_location(Access& access) const {
  const KnownTable& table = *access.table;
  if (!table.hashed() || table.cache == nullptr) return false;
  const kvstore::hash::HashedKey key(access.key.key);
  const std::optional<kvstore::remote::Location> place =
      table.cache->find(key.word, footprint_.reach().counters.locations);
  if (!place) return false;
  access.record = RemoteRecord::at_entry(table.remote.at(place->offset()), access.key.key, place->incarnation(),
                                         table.remote.max_value_bytes);
  return true;
}

AbortReason LockedReads::await_log_room() const {
  cc::WorkerState& worker = footprint_.reach().worker;
  if (worker.ring == nullptr) return AbortReason::kNone;
  return cc::await_ring_room(cc::likely_entry_bytes(*worker.ring), worker);
}

AbortReason LockedReads::lock_and_read(std::span<Access* const> accesses, std::span<Access* const> beside) {
  Trips& trips = footprint_.trips;
  Batch<XLock> locks = trips.batch<XLock>(accesses.size());
  Batch<KeyRead> reads = trips.batch<KeyRead>(beside.size());
  Batch<AccessStep*> steps = trips.batch<AccessStep*>(accesses.size() + beside.size());
  if (const AbortReason refused = locks_.refused(); failed(refused)) return refused;
  for (Access* const access : accesses) {
    XLock* const lock = locks_.add_lock(locks, *access, access->record.max_value_bytes, XLock::Fetch::kRecord);
    if (lock == nullptr) return AbortReason::kBuffersUsedUp;
    steps.push_back(lock);
  }
  if (const AbortReason reason = reading_.add_look_ups(beside, reads, steps); failed(reason)) return reason;
  if (const AbortReason reason = locks_.acquire(locks, accesses, steps); failed(reason)) return reason;
  if (const AbortReason reason = reading_.adopt_look_ups(beside, reads); failed(reason)) return reason;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    if (accesses[i]->x_locked()) adopt_locked_read(*accesses[i], locks[i]);
  }
  return reading_.fetch_values(accesses);
}

}  // namespace granary::cluster
