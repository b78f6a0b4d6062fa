#include "src/cluster/transaction/declared_keys.h"

#include <algorithm>

#include "src/cluster/transaction/abort_reasons.h"

namespace granary::cluster {
namespace {

/// Notes the TID of a record that is held now. The value that was READ before is still there if the TID is the same
/// (I1). If not, the value has to be READ again.
void adopt_held_tid(Access& access, record::TidWord tid) {
  if (access.seen.tid == tid) return;
  access.seen.tid = tid;
  access.seen.has_value = !access.had_value();
}

/// Whether all of the keys may turn out to be under leases that can be shared, so that their READs alone take hold of
/// them. Then E is READ behind these READs.
bool may_all_be_shared(std::span<Access* const> unseen) {
  return !unseen.empty() && std::all_of(unseen.begin(), unseen.end(), [](const Access* access) {
    return (access->declared.kind == DeclaredHold::Kind::kLease || access->sealed) && access->table->hashed();
  });
}

bool is_to_lock(const Access* access) { return access->declared.kind == DeclaredHold::Kind::kLock; }

}  // namespace

AbortReason DeclaredKeys::declare(std::span<const txn::DeclaredKey> keys) {
  if (keys.empty()) return AbortReason::kNone;
  Batch<Access*> declared = footprint_.trips.batch<Access*>(keys.size());
  Batch<Access*> unseen = footprint_.trips.batch<Access*>(keys.size());
  Reach& reach = footprint_.reach();
  if (reach.time != nullptr && !lease_jumps_) lease_jumps_ = reach.time->read().jumps;
  AbortReason reason = AbortReason::kNone;
  for (const txn::DeclaredKey& key : keys) {
    reason = note_declared(key, declared, unseen);
    if (failed(reason)) return reason;
  }
  if (std::any_of(declared.begin(), declared.end(), is_to_lock)) reason = locked_reads_.await_log_room();
  if (failed(reason)) return reason;
  if (!unseen.empty() && std::all_of(unseen.begin(), unseen.end(), is_to_lock)) {
    reason = lock_with_reads(unseen);
    if (failed(reason)) return reason;
    declared.erase_if([](const Access* access) { return access->x_locked() || access->has_no_record(); });
    unseen.erase_if([](const Access* access) { return !access->unseen() && !access->lacks_value(); });
    if (declared.empty()) return AbortReason::kNone;
  }
  const bool epochs_behind = may_all_be_shared(unseen);
  reason = epochs_behind ? reading_.look_up(unseen, Reading::Behind::kEpochs) : reading_.find(unseen);
  if (failed(reason)) return reason;
  declared.erase_if([this](Access* access) { return !is_left_to_hold(*access); });
  return epochs_behind && declared.empty() ? AbortReason::kNone : hold(declared);
}

/// Decides how the key's record will be held. A key that was declared before may change from a lease to a lock, and
/// never back. Adds it to `declared` if it is declared for the first time and not x-locked by a read (LockedReads), and
/// to `unseen` if it has to be READ.
AbortReason DeclaredKeys::note_declared(const txn::DeclaredKey& key, Batch<Access*>& declared, Batch<Access*>& unseen) {
  Access* access = nullptr;
  if (const AbortReason reason = footprint_.open(key.key, access); failed(reason)) return reason;
  if (access->sealed) {  // it is READ with the others and needs no hold, as it never changes
    if (access->unseen()) unseen.push_back(access);
    return AbortReason::kNone;
  }
  const bool first = access->declared.kind == DeclaredHold::Kind::kNone;
  const bool will_write = key.write && !key.key.table->is_immutable();
  access->declared.only_read |= !will_write;
  if (will_write || !may_lease(key.key)) {
    access->declared.kind = DeclaredHold::Kind::kLock;
  } else if (first) {
    access->declared.kind = DeclaredHold::Kind::kLease;
  }
  if (!first || access->x_locked()) return AbortReason::kNone;
  declared.push_back(access);
  if (access->unseen()) {
    unseen.push_back(access);
  } else if (access->declared.kind == DeclaredHold::Kind::kLease) {
    // The state word was READ before lease_jumps_ was noted, so a lease that it showed is not shared.
    access->seen.state = record::kFree;
  }
  return AbortReason::kNone;
}

bool DeclaredKeys::may_lease(const txn::RemoteKey& key) const {
  const Reach& reach = footprint_.reach();
  if (!reach.reads_lease || reach.time == nullptr || !reach.time->read().known) return false;
  return reach.read_then_written.empty() || !reach.read_then_written.has(AccessTable::hash(key));
}

/// Locks the records of all keys, which will be written, with the READs of them, if their places are known. If not, it
/// only notes which keys of ordered tables have a record, as the leaves have told.
AbortReason DeclaredKeys::lock_with_reads(std::span<Access* const> unseen) {
  Batch<Access*> placed = footprint_.trips.batch<Access*>(unseen.size());
  if (const AbortReason reason = locked_reads_.find_places(unseen, placed); failed(reason)) return reason;
  const auto left = std::count_if(unseen.begin(), unseen.end(), [](const Access* access) { return access->unseen(); });
  if (placed.size() == static_cast<std::size_t>(left))
    return placed.empty() ? AbortReason::kNone : locked_reads_.lock_and_read(placed);
  for (Access* const access : placed) {
    if (!access->table->hashed()) access->seen.note_record();
  }
  return AbortReason::kNone;
}

/// Shares the lease that the READ of the record has shown, if that lease can be shared. Returns whether a step has to
/// lock or lease the record all the same. If there is no record, the node set tells whether one appears. If the READ
/// showed a lease that can be neither shared nor followed by another, the record is read without a lease.
bool DeclaredKeys::is_left_to_hold(Access& access) const {
  if (!access.has_record()) return false;
  if (access.declared.kind != DeclaredHold::Kind::kLease) return true;
  const base::TimeReading now = footprint_.reach().time->read();
  const LeaseTerm term = lease_term(now);
  if (term.can_share(access.seen.state, now)) lease_until(access, record::lease_end_us(access.seen.state));
  return !access.leased() && !term.is_useless(access.seen.state, now);
}

void DeclaredKeys::lease_until(Access& access, std::uint64_t end_us) const {
  access.declared.lease_end_us = end_us;
  cc::bump(footprint_.reach().counters.leases, std::uint64_t{1});
}

/// Locks or leases the records in one round with READs of E behind, and READs again the values that have changed.
AbortReason DeclaredKeys::hold(std::span<Access* const> accesses) {
  Trips& trips = footprint_.trips;
  Batch<XLock> locks = trips.batch<XLock>(accesses.size());
  Batch<Lease> leases = trips.batch<Lease>(accesses.size());
  Batch<Access*> locked = trips.batch<Access*>(accesses.size());
  Batch<Access*> leased = trips.batch<Access*>(accesses.size());
  Batch<AccessStep*> all = trips.batch<AccessStep*>(accesses.size());
  const base::SoftTime* const time = footprint_.reach().time;
  const LeaseTerm term = time == nullptr ? LeaseTerm{} : lease_term(time->read());
  for (Access* const access : accesses) {
    if (is_to_lock(access)) {
      if (const AbortReason refused = locks_.refused(); failed(refused)) return refused;
      XLock* const lock = locks_.add_lock(locks, *access, access->record.max_value_bytes);
      if (lock == nullptr) return AbortReason::kBuffersUsedUp;
      all.push_back(lock);
      locked.push_back(access);
    } else {
      void* const room = trips.buffer(Lease::buffer_bytes(access->key.key.size()));
      if (room == nullptr) return AbortReason::kBuffersUsedUp;
      all.push_back(&leases.emplace_back(access->record, term, room, *time, access->seen.state));
      leased.push_back(access);
    }
  }
  if (const AbortReason reason = locks_.acquire(locks, locked, all); failed(reason)) return reason;
  if (const AbortReason reason = adopt_leases(leases, leased); failed(reason)) return reason;
  for (Access* const access : locked) adopt_held_tid(*access, access->lock.tid);
  return reading_.fetch_values(accesses);
}

/// Returns the term of leases that are taken now. An existing lease is shared if it ends late enough for this
/// transaction: an eighth of a lease's length from now. The gap that follows a lease has the same length.
LeaseTerm DeclaredKeys::lease_term(const base::TimeReading& now) const {
  const std::uint64_t from_us = now.now_us + now.error_us;
  const std::uint64_t long_us = footprint_.reach().lease_us;
  const std::uint64_t short_us = long_us / 8;
  return {.end_us = from_us + long_us, .least_end_us = from_us + short_us, .gap_us = short_us};
}

/// Notes the leases that were taken or shared. A record whose lease is about to end stays without one: it is validated
/// at the commit, as if it had not been declared.
AbortReason DeclaredKeys::adopt_leases(const Batch<Lease>& leases, std::span<Access* const> accesses) const {
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const Lease& lease = leases[i];
    Access& access = *accesses[i];
    if (lease.outcome() == AccessOutcome::kBusy && record::is_lease(lease.holder())) continue;
    if (const AbortReason reason = abort_reason_of(lease, lease.holder(), footprint_.reach()); failed(reason))
      return reason;
    if (access.read && access.seen.tid != lease.tid()) return AbortReason::kReadChanged;
    lease_until(access, lease.end_us());
    adopt_held_tid(access, lease.tid());
  }
  return AbortReason::kNone;
}

AbortReason DeclaredKeys::confirm_leases() const {
  const base::SoftTime* const time = footprint_.reach().time;
  if (time == nullptr) return AbortReason::kNone;
  const base::TimeReading now = time->read();
  const AccessTable& accesses = footprint_.accesses;
  const bool valid = std::all_of(accesses.begin(), accesses.end(), [this, &now](const Access& access) {
    return !access.leased() || now.valid({.end_us = access.declared.lease_end_us, .jumps = *lease_jumps_});
  });
  return valid ? AbortReason::kNone : AbortReason::kLeaseExpired;
}

/// A record that was declared to be read, and is written all the same, is under a lease of the transaction itself. It
/// cannot be x-locked before the lease ends, since others may share the lease. Each further attempt that did the same
/// would fail, too. So the next attempts x-lock such keys from the start (ReadThenWritten).
AbortReason DeclaredKeys::check_own_leases() {
  for (const Access& access : footprint_.accesses) {
    if (access.written() && access.leased()) footprint_.lease_wait.note(access.declared.lease_end_us);
  }
  if (!footprint_.lease_wait.due()) return AbortReason::kNone;
  for (const Access& access : footprint_.accesses) {
    if (access.written() && access.declared.only_read) footprint_.reach().read_then_written.add(access.hash);
  }
  return AbortReason::kRemotelyLocked;
}

void DeclaredKeys::end(txn::Ending ending) {
  lease_jumps_.reset();
  ReadThenWritten& learnt = footprint_.reach().read_then_written;
  if (ending == txn::Ending::kMayRunAgain || learnt.empty()) return;
  for (const Access& access : footprint_.accesses) {
    if (access.declared.only_read) learnt.remove(access.hash);
  }
}

}  // namespace granary::cluster
