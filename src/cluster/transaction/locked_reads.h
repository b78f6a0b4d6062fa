#pragma once
// X-locks records of other nodes and READs them in the same round trip, if their places are known. It is used for keys
// that were declared to be written (declared_keys.h), and for gets that say that their record will be written
// (MultiGet::will_write).

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

  /// Implements txn::RemoteAccess::get().
  AbortReason get(std::span<txn::RemoteGet> gets);
  /// Whether the key's place is known, so that it can be locked without a READ before. Notes the place, which may be
  /// another key's by now.
  bool knows_place(Access& access) const;
  /// Waits until the log has room for a transaction of any likely size, since the size is not known yet. Called before
  /// anything is held.
  AbortReason await_log_room() const;
  /// X-locks the records of keys with known places, and reads them under their locks. If a place turns out to be
  /// another key's, that lock is let go, and the place is forgotten. `beside`: keys of hash tables that are looked up
  /// in the same round.
  AbortReason take(std::span<Access* const> accesses, std::span<Access* const> beside = {});

 private:
  AbortReason look(std::span<Access* const> unseen, std::span<Access* const> to_lock);

  Footprint& footprint_;
  Reading& reading_;
  Locks& locks_;
};

}  // namespace granary::cluster
