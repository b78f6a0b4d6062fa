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
#include "src/cluster/transaction/locks.h"
#include "src/cluster/transaction/reading.h"

namespace granary::cluster {

class DeclaredKeys {
 public:
  DeclaredKeys(Footprint& footprint, Reading& reading, Locks& locks)
      : footprint_(footprint),
        reading_(reading),
        locks_(locks) {}

  /// As txn::RemoteAccess.
  AbortReason declare(std::span<const txn::DeclaredKey> keys);
  /// Whether all leases are valid still.
  AbortReason confirm_leases() const;
  /// Whether the transaction's own leases keep it from its writes.
  AbortReason check_own_leases();
  /// How often the clock had jumped before the first lease was taken.
  std::uint64_t lease_jumps() const { return lease_jumps_.value_or(0); }
  /// The transaction ends. `over`: it will not be tried again.
  void end(bool over);

 private:
  AbortReason note(const txn::DeclaredKey& key, Batch<Access*>& declared, Batch<Access*>& unseen);
  bool may_lease(const txn::RemoteKey& key) const;
  AbortReason await_log_room() const;
  bool know_places(std::span<Access* const> unseen) const;
  bool know_place(Access& access) const;
  AbortReason lock_places(std::span<Access* const> unseen);
  AbortReason hold(std::span<Access* const> accesses);
  bool has_to_hold(Access& access) const;
  LeaseTerm lease_term(const base::TimeReading& now) const;
  AbortReason take_leased(const Batch<Lease>& leases, std::span<Access* const> accesses) const;
  void lease_until(Access& access, std::uint64_t end_us) const;

  Footprint& footprint_;
  Reading& reading_;
  Locks& locks_;
  std::optional<std::uint64_t> lease_jumps_;
};

}  // namespace granary::cluster
