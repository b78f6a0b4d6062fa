#pragma once
// Holds declared keys by the protocol lease_2pl, two-phase locking with leases (DrTM, slides 28 to 35).
// Transaction::declare() calls it through RemoteTransaction.
//
// Before it executes, a transaction x-locks the records that it will write, and leases those that it will read, all
// leases with the same end. At its commit it checks that the leases are still valid. That is their validation, since at
// that moment everything is held. Keys that were not declared are validated as under occ.
//
//   start       READs of the records. Then a CAS and a READ of the header for each of them, except those under a lease
//               that can be shared, and behind these a READ of E (I7), one chain for each node. If all declared keys
//               will be written and their places are known, a CAS and a READ of each record at once; the places in
//               ordered tables are known behind READs of their leaves.
//   commit      no round trip for what is held, if E has not moved since
//   write back  as under occ; records that were locked and not written are freed
//
// If the cluster's time is not known, there are no leases (I9), and x-locks take their place.

#include <optional>
#include <span>

#include "src/cluster/record_access/lease.h"
#include "src/cluster/transaction/locked_reads.h"
#include "src/cluster/transaction/locks.h"
#include "src/cluster/transaction/reading.h"

namespace granary::cluster {

class DeclaredKeys {
 public:
  DeclaredKeys(Footprint& footprint, Reading& reading, Locks& locks, LockedReads& locked_reads)
      : footprint_(footprint),
        reading_(reading),
        locks_(locks),
        locked_reads_(locked_reads) {}

  /// Implements txn::RemoteAccess::declare().
  AbortReason declare(std::span<const txn::DeclaredKey> keys);
  /// Returns kNone if all leases are still valid, else kLeaseExpired.
  AbortReason confirm_leases() const;
  /// Returns kRemotelyLocked if the transaction holds leases on records that it writes, which keep it from x-locking
  /// them, else kNone.
  AbortReason check_own_leases();
  /// Returns how often the clock had jumped before the first lease was taken; 0 if none was.
  std::uint64_t lease_jumps() const { return lease_jumps_.value_or(0); }
  /// Forgets the transaction's leases. If it ends for good, also what it has learnt of keys that are read and then
  /// written.
  void end(txn::Ending ending);

 private:
  AbortReason note_declared(const txn::DeclaredKey& key, Batch<Access*>& declared, Batch<Access*>& unseen);
  bool may_lease(const txn::RemoteKey& key) const;
  AbortReason lock_with_reads(std::span<Access* const> unseen);
  AbortReason hold(std::span<Access* const> accesses);
  bool is_left_to_hold(Access& access) const;
  LeaseTerm lease_term(const base::TimeReading& now) const;
  AbortReason adopt_leases(const Batch<Lease>& leases, std::span<Access* const> accesses) const;
  void lease_until(Access& access, std::uint64_t end_us) const;

  Footprint& footprint_;
  Reading& reading_;
  Locks& locks_;
  LockedReads& locked_reads_;
  std::optional<std::uint64_t> lease_jumps_;  ///< how often the clock had jumped before the first declare()
};

}  // namespace granary::cluster
