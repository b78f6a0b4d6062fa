// Declared keys, the protocol lease_2pl (DrTM, slides 28 to 35): before it executes, a transaction x-locks the records it will
// write and leases those it will read, with one end for all; at the end it looks whether the leases are valid still. That is
// their validation: at that moment everything is held. Whatever was not declared is validated beside it as ever.
//
//   start      READs of the records; then CAS and READ of each, and E behind them (I7), one chain a node
//   commit     no round trip for what is held, if E has not moved since
//   write back as ever; what was locked and not written is freed
//
// Leases are refused without a time (I9). Then x-locks take their place.

#include <algorithm>

#include "src/dist/record_access/lease.h"
#include "src/dist/transaction/remote_transaction.h"

namespace granary::dist {

AbortReason RemoteTransaction::declare(std::span<const txn::DeclaredKey> keys) {
  const bool may_lease = reach_.time != nullptr && reach_.time->read().known;
  std::vector<Access*> declared;
  std::vector<Access*> unseen;
  for (const txn::DeclaredKey& key : keys) {
    Access* access = nullptr;
    const AbortReason reason = open(key.key, access);
    if (reason != AbortReason::kNone) return reason;
    const bool first = access->hold == Access::Hold::kNone;
    if (key.write || !may_lease) {
      access->hold = Access::Hold::kLock;
    } else if (first) {
      access->hold = Access::Hold::kLease;
    }
    if (!first) continue;
    declared.push_back(access);
    if (access->seen == Access::Seen::kNothing) unseen.push_back(access);
  }
  AbortReason reason = look(unseen);
  // Where there is no record there is nothing to hold: the node set tells whether one appears.
  std::erase_if(declared, [](const Access* access) { return access->seen != Access::Seen::kRecord; });
  if (reason == AbortReason::kNone) reason = hold(declared);
  if (reason != AbortReason::kNone) release();
  return reason;
}

AbortReason RemoteTransaction::hold(std::span<Access* const> accesses) {
  std::deque<XLock> locks;
  std::deque<Lease> leases;
  std::vector<Access*> locked;
  std::vector<Access*> leased;
  std::vector<AccessStep*> all;
  const LeaseTerm term = lease_term();
  for (Access* const access : accesses) {
    const bool locks_it = access->hold == Access::Hold::kLock;
    void* const room =
        buffer(locks_it ? XLock::buffer_bytes(access->key.key.size()) : Lease::buffer_bytes(access->record));
    if (room == nullptr || (locks_it && !make_release_room(*access, access->record.max_value_bytes)))
      return AbortReason::kOutOfMemory;
    if (locks_it) {
      all.push_back(&locks.emplace_back(access->record, reach_.holders.next(), room, reach_.lease_expired));
      locked.push_back(access);
    } else {
      all.push_back(&leases.emplace_back(access->record, term, room, *reach_.time));
      leased.push_back(access);
    }
  }
  const AbortReason unreached = run_before_epochs(all);
  if (unreached == AbortReason::kOutOfMemory) return unreached;  // nothing was posted
  AbortReason reason = settle_locks(locks, locked);
  if (reason == AbortReason::kNone) reason = unreached;
  if (reason == AbortReason::kNone) reason = take_leased(leases, leased);
  return reason == AbortReason::kNone ? take_locked(locked) : reason;
}

/// One that is there is shared if a transaction has a chance to end before it does.
LeaseTerm RemoteTransaction::lease_term() const {
  if (reach_.time == nullptr) return {};
  const base::TimeReading now = reach_.time->read();
  return {.end_us = now.now_us + reach_.lease_us, .least_end_us = now.now_us + now.error_us + reach_.lease_us / 16};
}

AbortReason RemoteTransaction::take_leased(const std::deque<Lease>& leases, std::span<Access* const> accesses) {
  for (std::size_t i = 0; i < leases.size(); ++i) {
    const Lease& lease = leases[i];
    Access& access = *accesses[i];
    const AbortReason reason = why(lease.outcome(), lease.holder());
    if (reason != AbortReason::kNone) return reason;
    if (access.read && access.tid != lease.read().tid()) return AbortReason::kReadChanged;
    access.lease_end_us = lease.end_us();
    access.tid = lease.read().tid();
    access.has_value = true;
    if (access.found()) access.value = lease.read().value();
  }
  return AbortReason::kNone;
}

/// What was READ before the lock is what is under it, or is READ again.
AbortReason RemoteTransaction::take_locked(std::span<Access* const> accesses) {
  for (Access* const access : accesses) {
    if (access->locked_tid == access->tid) continue;
    access->tid = access->locked_tid;
    access->has_value = !access->found();
  }
  return fetch(accesses);
}

AbortReason RemoteTransaction::confirm_leases() const {
  if (reach_.time == nullptr) return AbortReason::kNone;
  const base::TimeReading now = reach_.time->read();
  const bool valid = std::all_of(accesses_.begin(), accesses_.end(), [&now](const Access& access) {
    return !access.leased() || now.valid(access.lease_end_us);
  });
  return valid ? AbortReason::kNone : AbortReason::kLeaseExpired;
}

}  // namespace granary::dist
