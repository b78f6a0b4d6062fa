// Declared keys, the protocol lease_2pl (DrTM, slides 28 to 35): before it executes, a transaction x-locks the records it will
// write and leases those it will read, with one end for all; at the end it looks whether the leases are valid still. That is
// their validation: at that moment everything is held. Whatever was not declared is validated beside it as ever.
//
//   start      READs of the records; then, but for those under a lease that can be shared, CAS and READ of each header; E behind
//              them (I7), one chain a node. If all that is declared will be written, and it is known where it is, CAS and READ of the
//              records at once
//   commit     no round trip for what is held, if E has not moved since
//   write back as ever; what was locked and not written is freed
//
// Leases are refused without a time (I9). Then x-locks take their place.

#include <algorithm>

#include "src/cluster/record_access/lease.h"
#include "src/cluster/transaction/remote_transaction.h"

namespace granary::cluster {

AbortReason RemoteTransaction::declare(std::span<const txn::DeclaredKey> keys) {
  std::vector<Access*> declared;
  std::vector<Access*> unseen;
  if (reach_.time != nullptr && !lease_jumps_) lease_jumps_ = reach_.time->read().jumps;
  for (const txn::DeclaredKey& key : keys) {
    Access* access = nullptr;
    const AbortReason reason = open(key.key, access);
    if (reason != AbortReason::kNone) return reason;
    const bool first = access->hold == Access::Hold::kNone;
    access->declared_read |= !key.write;
    if (key.write || !may_lease(key.key)) {
      access->hold = Access::Hold::kLock;
    } else if (first) {
      access->hold = Access::Hold::kLease;
    }
    if (!first) continue;
    declared.push_back(access);
    if (access->seen == Access::Seen::kNothing) {
      unseen.push_back(access);
    } else if (access->hold == Access::Hold::kLease) {
      access->state = record::kFree;  // READ before the clock's jumps were noted: no lease of then is shared
    }
  }
  AbortReason reason = AbortReason::kNone;
  if (std::any_of(declared.begin(), declared.end(),
                  [](const Access* access) { return access->hold == Access::Hold::kLock; }))
    reason = await_log_room();
  if (reason != AbortReason::kNone) return reason;
  if (know_places(unseen)) {
    reason = lock_places(unseen);
    if (reason != AbortReason::kNone) return reason;
    std::erase_if(declared, [](const Access* access) { return access->held(); });
    std::erase_if(unseen, [](const Access* access) { return access->held(); });
    if (declared.empty()) return AbortReason::kNone;
  }
  const bool epochs_behind = may_all_be_shared(unseen);
  reason = epochs_behind ? look_up(unseen, Behind::kEpochs) : look(unseen);
  if (reason != AbortReason::kNone) return reason;
  std::erase_if(declared, [this](Access* access) { return !has_to_hold(*access); });
  return epochs_behind && declared.empty() ? AbortReason::kNone : hold(declared);
}

/// Of keys that will be written: then they can be locked without a look before. Each place may be one that is not the key's any more.
bool RemoteTransaction::know_places(std::span<Access* const> unseen) const {
  return !unseen.empty() && std::all_of(unseen.begin(), unseen.end(), [this](Access* access) {
    if (access->hold != Access::Hold::kLock || !access->table->hashed() || access->table->cache == nullptr)
      return false;
    const kvstore::remote::RemoteTable& remote = access->table->remote;
    const kvstore::hash::HashedKey key(access->key.key);
    const std::optional<kvstore::remote::Location> place =
        access->table->cache->find(key.word, reach_.counters.locations);
    if (!place) return false;
    access->record = RemoteRecord::at_entry(remote.at(place->offset()), access->key.key, place->incarnation(),
                                            remote.max_value_bytes);
    return true;
  });
}

/// Fetches them under their locks. Where a place was another key's, nothing is held, and the place is forgotten.
AbortReason RemoteTransaction::lock_places(std::span<Access* const> unseen) {
  std::deque<XLock> locks;
  std::vector<AccessStep*> steps;
  if (reach_.undelivered.full()) return AbortReason::kTooMuchUndelivered;
  for (Access* const access : unseen) {
    void* const room = buffer(XLock::buffer_bytes(access->record));
    if (room == nullptr || !make_release_room(*access, access->record.max_value_bytes))
      return AbortReason::kOutOfMemory;
    steps.push_back(&locks.emplace_back(access->record, reach_.holders.next(), room, reach_.lease_expired,
                                        record::kFree, XLock::Fetch::kRecord));
  }
  const AbortReason reason = take_locks(locks, unseen, steps);
  if (reason != AbortReason::kNone) return reason;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    if (unseen[i]->held()) take_fetched(*unseen[i], locks[i]);
  }
  return fetch(unseen);
}

void RemoteTransaction::forget_place(const Access& access) {
  const RemoteRecord& record = access.record;
  const std::uint64_t offset = record.at.offset + offsetof(record::SharedRecord, head);
  access.table->cache->forget(kvstore::hash::HashedKey(access.key.key).word, {offset, record.incarnation},
                              reach_.counters.locations);
}

void RemoteTransaction::take_fetched(Access& access, const XLock& lock) {
  access.seen = Access::Seen::kRecord;
  access.record.incarnation = lock.incarnation();
  access.record.incarnation_mask = record::kIncarnationMax;
  access.tid = lock.tid();
  const std::optional<std::string_view> value = access.found() ? lock.value() : std::string_view();
  access.has_value = value.has_value();
  access.value = value.value_or(std::string_view());
}

/// Then E behind these READs is behind all that is held; of keys seen before nothing is held yet.
bool RemoteTransaction::may_all_be_shared(std::span<Access* const> unseen) const {
  return !unseen.empty() && std::all_of(unseen.begin(), unseen.end(), [](const Access* access) {
    return access->hold == Access::Hold::kLease && access->table->hashed();
  });
}

bool RemoteTransaction::may_lease(const txn::RemoteKey& key) const {
  if (!reach_.reads_lease || reach_.time == nullptr || !reach_.time->read().known) return false;
  return reach_.read_then_written.empty() || !reach_.read_then_written.has(AccessTable::hash(key));
}

/// Where there is no record there is nothing to hold: the node set tells whether one appears. What was READ when a lease was there
/// needs none of its own, or can have none.
bool RemoteTransaction::has_to_hold(Access& access) const {
  if (access.seen != Access::Seen::kRecord) return false;
  if (access.hold != Access::Hold::kLease) return true;
  const base::TimeReading now = reach_.time->read();
  const LeaseTerm term = lease_term(now);
  if (term.shares(access.state, now)) lease_until(access, record::lease_end_us(access.state));
  return !access.leased() && !term.in_vain(access.state, now);
}

void RemoteTransaction::lease_until(Access& access, std::uint64_t end_us) const {
  access.lease_end_us = end_us;
  cc::bump(reach_.counters.leases, std::uint64_t{1});
}

/// The log's room for what will be written, whose size nobody knows yet, is waited for before anything is held.
AbortReason RemoteTransaction::await_log_room() const {
  cc::WorkerState& worker = reach_.worker;
  if (worker.ring == nullptr) return AbortReason::kNone;
  const std::uint64_t bytes = worker.ring->capacity() / 4;
  const bool room =
      worker.ring->has_room(bytes) || worker.shared.log->wait_for_room(*worker.waiter, *worker.ring, bytes);
  return room ? AbortReason::kNone : AbortReason::kLogFailed;
}

AbortReason RemoteTransaction::hold(std::span<Access* const> accesses) {
  std::deque<XLock> locks;
  std::deque<Lease> leases;
  std::vector<Access*> locked;
  std::vector<Access*> leased;
  std::vector<AccessStep*> all;
  const LeaseTerm term = reach_.time == nullptr ? LeaseTerm{} : lease_term(reach_.time->read());
  for (Access* const access : accesses) {
    const bool locks_it = access->hold == Access::Hold::kLock;
    if (locks_it && reach_.undelivered.full()) return AbortReason::kTooMuchUndelivered;
    const std::size_t key_bytes = access->key.key.size();
    void* const room = buffer(locks_it ? XLock::buffer_bytes(key_bytes) : Lease::buffer_bytes(key_bytes));
    if (room == nullptr || (locks_it && !make_release_room(*access, access->record.max_value_bytes)))
      return AbortReason::kOutOfMemory;
    if (locks_it) {
      all.push_back(
          &locks.emplace_back(access->record, reach_.holders.next(), room, reach_.lease_expired, access->state));
      locked.push_back(access);
    } else {
      all.push_back(&leases.emplace_back(access->record, term, room, *reach_.time, access->state));
      leased.push_back(access);
    }
  }
  AbortReason reason = take_locks(locks, locked, all);
  if (reason == AbortReason::kNone) reason = take_leased(leases, leased);
  if (reason != AbortReason::kNone) return reason;
  for (Access* const access : locked) take_held(*access, access->locked_tid);
  return fetch(accesses);
}

/// One that is there is shared if a transaction has a chance to end before it does, and the gap behind it is one of that length.
LeaseTerm RemoteTransaction::lease_term(const base::TimeReading& now) const {
  const std::uint64_t from_us = now.now_us + now.error_us;
  const std::uint64_t short_us = reach_.lease_us / 8;
  return {.end_us = from_us + reach_.lease_us, .least_end_us = from_us + short_us, .gap_us = short_us};
}

/// Where a lease is about to end, nobody waits: what was READ is validated at the end, as if it had not been declared.
AbortReason RemoteTransaction::take_leased(const std::deque<Lease>& leases, std::span<Access* const> accesses) {
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const Lease& lease = leases[i];
    Access& access = *accesses[i];
    if (lease.outcome() == Outcome::kBusy && record::is_lease(lease.holder())) continue;
    const AbortReason reason = why(lease.outcome(), lease.holder());
    if (reason != AbortReason::kNone) return reason;
    if (access.read && access.tid != lease.tid()) return AbortReason::kReadChanged;
    lease_until(access, lease.end_us());
    take_held(access, lease.tid());
  }
  return AbortReason::kNone;
}

/// What was READ before is what is there now that the record is held, if its TID is the same (I1); or is READ again.
void RemoteTransaction::take_held(Access& access, record::TidWord tid) {
  if (access.tid == tid) return;
  access.tid = tid;
  access.has_value = !access.found();
}

AbortReason RemoteTransaction::confirm_leases() const {
  if (reach_.time == nullptr) return AbortReason::kNone;
  const base::TimeReading now = reach_.time->read();
  const bool valid = std::all_of(accesses_.begin(), accesses_.end(), [this, &now](const Access& access) {
    return !access.leased() || now.valid({.end_us = access.lease_end_us, .jumps = *lease_jumps_});
  });
  return valid ? AbortReason::kNone : AbortReason::kLeaseExpired;
}

/// What was leased, as it was declared to be read, and is written all the same, cannot be x-locked before the lease ends, which others
/// may share; and no attempt could ever commit that did as this one. The next ones x-lock such keys from the start.
AbortReason RemoteTransaction::check_own_leases() {
  for (const Access& access : accesses_) {
    if (access.written && access.leased()) lease_in_way_us_ = std::max(lease_in_way_us_, access.lease_end_us);
  }
  if (lease_in_way_us_ == 0) return AbortReason::kNone;
  for (const Access& access : accesses_) {
    if (access.written && access.declared_read) reach_.read_then_written.add(AccessTable::hash(access.key));
  }
  return AbortReason::kRemotelyLocked;
}

void RemoteTransaction::forget_what_was_learnt() {
  if (reach_.read_then_written.empty()) return;
  for (const Access& access : accesses_) {
    if (access.declared_read) reach_.read_then_written.remove(AccessTable::hash(access.key));
  }
}

/// Waits for the lease that was in the way, if one was: the next attempt would meet it again. Nothing is held meanwhile, nor E held
/// back. Not longer than a lease can last, by another clock than that which leases are judged by: that may stand still, or have
/// been set back.
void RemoteTransaction::await_lease_end() {
  const std::uint64_t end_us = std::exchange(lease_in_way_us_, 0);
  if (end_us == 0 || reach_.time == nullptr) return;
  const base::TimeReading begin = reach_.time->read();
  // From its taker's reading plus the error on; our clock may be behind that reading by as much, and wants to see it over by as much.
  const std::uint64_t until_us = reach_.now_us() + reach_.lease_us + 3 * begin.error_us;
  for (std::uint32_t turn = 0; reach_.now_us() <= until_us && !cc::shut_out(reach_.worker.shared); ++turn) {
    const base::TimeReading now = reach_.time->read();
    if (!now.known || now.expired(end_us)) break;
    reach_.waiter.pause(turn);
  }
}

}  // namespace granary::cluster
