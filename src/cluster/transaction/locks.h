#pragma once
// A transaction's x-locks at other nodes (I2, I5, I10): named in the lock-ahead record before they are asked for, given back with what
// was decided or without. What breaks is gone on with over the next connection; what cannot be given back then is undelivered.

#include <deque>
#include <span>

#include "src/cluster/record_access/release.h"
#include "src/cluster/record_access/x_lock.h"
#include "src/cluster/transaction/footprint.h"
#include "src/log/lock_ahead.h"

namespace granary::cluster {

class Locks {
 public:
  explicit Locks(Footprint& footprint);

  /// Whether the worker may take any, for all that it could not give back.
  AbortReason refused() const {
    return footprint_.reach().undelivered.full() ? AbortReason::kTooMuchUndelivered : AbortReason::kNone;
  }
  /// A lock to take, with room to give it back with a new value of so many bytes; nullptr if there is no registered memory.
  XLock* add(Batch<XLock>& locks, Access& access, std::size_t value_bytes, XLock::Fetch fetch = XLock::Fetch::kHeader);
  /// Takes the locks, one for each access. `holds`: the locks, and what else takes hold of records in the same round.
  AbortReason take(Batch<XLock>& locks, std::span<Access* const> accesses, std::span<AccessStep* const> holds);
  /// Gives back all that are held; those of records that were written with the new version, if there is a `tid`. When nothing is left
  /// to do, the lock-ahead record gets its completion mark.
  void give_back(Phase phase, record::TidWord tid);

  // As cc::RemotePart.
  void decide(record::TidWord tid, std::uint64_t log_end) { record_.decide(tid, log_end); }
  void take_back_decision() { record_.take_back_decision(); }

  /// The transaction ends: what it could not give back becomes the worker's to deliver.
  void end();

 private:
  AbortReason name(const Batch<XLock>& locks, std::span<Access* const> accesses);
  AbortReason settle(Batch<XLock>& locks, std::span<Access* const> accesses);
  AbortReason settle(XLock& lock, Access& access);
  template <typename Resumable>
  void go_on(Phase phase, Resumable& step);

  Footprint& footprint_;
  log::LockRecord record_;  ///< what it may hold x-locked, for whoever recovers this node
  std::deque<Release> undelivered_;
};

}  // namespace granary::cluster
