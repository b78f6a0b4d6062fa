#pragma once
// X-locks records of other nodes and READs them in the same round trip, if their places are known. It is used for keys
// that were declared to be written (declared_keys.h), and for gets that say that their record will be written (gets.h;
// MultiGet::will_write).

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

  /// Whether the worker may take more locks (Locks::refused).
  bool may_lock() const { return !failed(locks_.refused()); }
  /// Makes the place that the location cache remembers for the key the place of its record, which can then be locked
  /// without a READ before. Another key may have that place by now. Returns false if no place is remembered.
  bool use_cached_location(Access& access) const;
  /// Waits until the log has room for a transaction of any likely size, since the size is not known yet. Called before
  /// the locks of one call are taken. If the transaction holds some of an earlier call, others may wait for these while
  /// it waits for a disk.
  AbortReason await_log_room() const;
  /// X-locks the records of keys with known places, and reads them under their locks. If a place turns out to be
  /// another key's, that lock is let go, and the place is forgotten. `beside`: keys of hash tables that are looked up
  /// in the same round.
  AbortReason lock_and_read(std::span<Access* const> accesses, std::span<Access* const> beside = {});

 private:
  Footprint& footprint_;
  Reading& reading_;
  Locks& locks_;
};

}  // namespace granary::cluster
