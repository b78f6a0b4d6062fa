#include "src/cluster/transaction/locked_reads.h"

#include <algorithm>

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

/// Whether a record may lie at the place where a leaf has led. The entry is another node's word, and a CAS may change
/// what a READ would not (I26).
bool may_be_record(const Access& access) { return access.record.at.offset % record::kSharedGrain == 0; }

}  // namespace

AbortReason LockedReads::find_places(std::span<Access* const> accesses, Batch<Access*>& placed,
                                     std::span<Access* const> beside) {
  bool any_ordered = false;
  for (Access* const access : accesses) {
    any_ordered |= !access->table->hashed();
    if (use_cached_location(*access)) placed.push_back(access);
  }
  if (!any_ordered) return AbortReason::kNone;
  LeafReads leaves(footprint_, accesses.size() + beside.size());
  for (const std::span<Access* const> some : {accesses, beside})
    reading_.add_leaves(some, leaves, LeafReads::Unknown::kIsNoMiss);
  if (const AbortReason reason = leaves.run(); failed(reason)) return reason;
  if (const AbortReason reason = reading_.find_in_leaves(accesses, leaves, placed); failed(reason)) return reason;
  placed.erase_if([](const Access* access) { return !access->table->hashed() && !may_be_record(*access); });
  Batch<Access*> found = footprint_.trips.batch<Access*>(beside.size());
  const AbortReason reason = reading_.find_in_leaves(beside, leaves, found);
  for (Access* const access : found) access->seen.note_record();
  base::sync_point("locked_reads.placed");
  return reason;
}

/// Makes the place that the location cache remembers for the key the place of its record. Another key may have that
/// place by now. Returns false if no place is remembered. Counts nothing: lock_and_read() counts the places that it
/// uses, and the look-ups of the other keys ask the cache again.
bool LockedReads::use_cached_location(Access& access) const {
  const KnownTable& table = *access.table;
  if (!table.hashed() || table.cache == nullptr) return false;
  const kvstore::hash::HashedKey key(access.key.key);
  kvstore::remote::LocationCacheCounters uncounted;
  const std::optional<kvstore::remote::Location> place = table.cache->find(key.word, uncounted);
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
  Batch<Access*> to_look_up = trips.batch<Access*>(beside.size());
  Batch<Access*> to_fetch = trips.batch<Access*>(beside.size());
  for (Access* const access : beside) (access->lacks_value() ? to_fetch : to_look_up).push_back(access);
  Batch<KeyRead> look_ups = trips.batch<KeyRead>(to_look_up.size());
  Batch<CheckedRead> fetches = trips.batch<CheckedRead>(to_fetch.size());
  Batch<AccessStep*> steps = trips.batch<AccessStep*>(accesses.size() + beside.size());
  if (const AbortReason refused = locks_.refused(); failed(refused)) return refused;
  for (Access* const access : accesses) {
    XLock* const lock = locks_.add_lock(locks, *access, access->record.max_value_bytes, XLock::Fetch::kRecord);
    if (lock == nullptr) return AbortReason::kBuffersUsedUp;
    if (access->table->hashed()) cc::bump(footprint_.reach().counters.locations.hits, std::uint64_t{1});
    steps.push_back(lock);
  }
  if (const AbortReason reason = reading_.add_look_ups(to_look_up, look_ups, steps); failed(reason)) return reason;
  if (const AbortReason reason = reading_.add_fetches(to_fetch, fetches, steps); failed(reason)) return reason;
  if (const AbortReason reason = locks_.acquire(locks, accesses, steps); failed(reason)) return reason;
  if (const AbortReason reason = reading_.adopt_look_ups(to_look_up, look_ups); failed(reason)) return reason;
  if (const AbortReason reason = reading_.adopt_fetches(to_fetch, fetches); failed(reason)) return reason;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    if (accesses[i]->x_locked()) adopt_locked_read(*accesses[i], locks[i]);
  }
  return reading_.fetch_values(accesses);
}

}  // namespace granary::cluster
