#pragma once
// Locks records of other nodes and READs them in the same round trip, where it is known where they are: those that were declared to be written
// (declared_keys.h), and those of which a get says that they will be.

#include <span>

#include "src/cluster/transaction/locks.h"
#include "src/cluster/transaction/reading.h"

namespace granary::cluster {

class LockedReads {
 public:
  LockedReads(Footprint& footprint, Reading& reading, Locks& locks)
      : footprint_(footprint),
        reading_(reading),
        locks_(locks) {}

  /// Does what txn::RemoteAccess::get() promises.
  AbortReason get(std::span<txn::RemoteGet> gets);
  /// Returns whether the key can be locked without a look before, and notes its place, which may be another key's by now.
  bool knows_place(Access& access) const;
  /// Waits for the log's room for what will be written, whose size nobody knows yet, before anything is held.
  AbortReason await_log_room() const;
  /// Locks keys of known places and fetches them under their locks. Where a place was another key's, nothing is held, and the place is
  /// forgotten. `beside` has keys of hash tables that are looked up in the same round.
  AbortReason take(std::span<Access* const> accesses, std::span<Access* const> beside = {});

 private:
  AbortReason look(std::span<Access* const> unseen, std::span<Access* const> to_lock);

  Footprint& footprint_;
  Reading& reading_;
  Locks& locks_;
};

}  // namespace granary::cluster
