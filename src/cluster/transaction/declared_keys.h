#pragma once
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

  /// Does what txn::RemoteAccess::declare() promises.
  AbortReason declare(std::span<const txn::DeclaredKey> keys);
  /// Returns kNone if all leases are still valid, else kLeaseExpired.
  AbortReason confirm_leases() const;
  /// Returns kRemotelyLocked if the transaction's own leases keep it from its writes, else kNone.
  AbortReason check_own_leases();
  /// Tells how often the clock had jumped when the first lease was taken; 0 if none was.
  std::uint64_t lease_jumps() const { return lease_jumps_.value_or(0); }
  /// Forgets the transaction's leases. `over` means that it will not be tried again.
  void end(bool over);

 private:
  AbortReason note(const txn::DeclaredKey& key, Batch<Access*>& declared, Batch<Access*>& unseen);
  bool may_lease(const txn::RemoteKey& key) const;
  bool know_places(std::span<Access* const> unseen) const;
  AbortReason hold(std::span<Access* const> accesses);
  bool has_to_hold(Access& access) const;
  LeaseTerm lease_term(const base::TimeReading& now) const;
  AbortReason take_leased(const Batch<Lease>& leases, std::span<Access* const> accesses) const;
  void lease_until(Access& access, std::uint64_t end_us) const;

  Footprint& footprint_;
  Reading& reading_;
  Locks& locks_;
  LockedReads& locked_reads_;
  std::optional<std::uint64_t> lease_jumps_;
};

}  // namespace granary::cluster
