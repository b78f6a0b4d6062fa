#pragma once
// X-locks records of other nodes and READs them in the same round trip, if their places are known. It is used for keys
// that were declared to be written (declared_keys.h), and for gets that say that their record will be written (gets.h;
// MultiGet::will_write).
//
// The location cache remembers places of hash tables' records, so such a key costs one round trip. Of ordered tables it
// is the leaves that are remembered. They are READ first, in one round trip for all keys, and lead to the records. A
// key that has no entry in its leaf has no record, and nothing is locked.
//
// A place may turn out not to be the record's: another key has got the cached place, or the record has left its table
// since the leaf was READ. That lock is let go, and the key stays unseen. The caller looks for it again: a get
// without a lock, and declare() locks what that finds.

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
  /// Finds the places of the keys' records, as far as that needs no question to an owner, and adds the keys that have
  /// one to `placed`, so that lock_and_read() can lock them. If it READs leaves, it also READs those of the keys
  /// `beside`, and notes which of these have a record. The keys are unseen before. Returns kNone, or why the
  /// transaction must end.
  AbortReason find_places(std::span<Access* const> accesses, Batch<Access*>& placed,
                          std::span<Access* const> beside = {});
  /// Waits until the log has room for a transaction of any likely size, since the size is not known yet. Called before
  /// the locks of one call are taken. If the transaction holds some of an earlier call, others may wait for these while
  /// it waits for a disk.
  AbortReason await_log_room() const;
  /// X-locks the records of keys with known places, and reads them under their locks. Keys whose place turns out not to
  /// be their record's stay unseen. `beside`: unseen keys of hash tables, which are looked up in the same round, and
  /// keys whose records lack their values, which are READ in that round.
  AbortReason lock_and_read(std::span<Access* const> accesses, std::span<Access* const> beside = {});

 private:
  bool use_cached_location(Access& access) const;

  Footprint& footprint_;
  Reading& reading_;
  Locks& locks_;
};

}  // namespace granary::cluster
