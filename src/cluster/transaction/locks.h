#pragma once
// Takes and gives back a transaction's x-locks at other nodes (I2, I5, I10), for commits, declared keys and locked
// reads.
//
// Every lock is named in the lock-ahead record before its CAS is posted. It is given back with the new version if the
// transaction was decided, and without one if not. If a connection breaks, the next connection shows what became of the
// lock. A lock that cannot be given back even then is handed over to the worker, which tries again later
// (undelivered.h).

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "src/cc/elsewhere/remote_commit.h"
#include "src/cluster/record_access/x_lock.h"
#include "src/cluster/transaction/footprint.h"
#include "src/cluster/transaction/release_run.h"
#include "src/log/lock_ahead.h"

namespace granary::cluster {

class Locks {
 public:
  explicit Locks(Footprint& footprint);

  /// Returns kTooMuchUndelivered if the worker may not take more locks, since there are too many that it could not give
  /// back; else kNone.
  AbortReason refused() const {
    return footprint_.reach().undelivered.full() ? AbortReason::kTooMuchUndelivered : AbortReason::kNone;
  }
  /// Adds the lock of a record to `locks`, and takes registered memory to give it back with a new value of
  /// `value_bytes`. Returns nullptr if that memory is used up.
  XLock* add_lock(Batch<XLock>& locks, Access& access, std::size_t value_bytes,
                  XLock::Fetch fetch = XLock::Fetch::kHeader);
  /// Names the locks, takes them, one for each access, and READs E behind them. `holds`: all steps to run, which are
  /// these locks and the leases and look-ups of the same round.
  AbortReason acquire(Batch<XLock>& locks, std::span<Access* const> accesses, std::span<AccessStep* const> holds,
                      TouchedNodes::With with = TouchedNodes::With::kEpoch) noexcept;
  /// Gives back all locks, those of records that were written with their new version, and waits until that has arrived.
  /// Then it has the owners register the records that were removed, and sets the completion mark. If this node dies
  /// before that, its recovery does both.
  void write_back(record::TidWord tid, std::span<const cc::RemoteWrite> writes);
  /// Gives back all locks with the new versions, and waits for nothing. The transaction's memory stays until
  /// under_way() is false. Called in a fiber only, whose scheduler polls for the completions.
  void send_back(record::TidWord tid) { begin_release(tid).send(); }
  /// Whether what send_back() has posted is still under way. Sets the completion mark when it has arrived.
  bool under_way() noexcept;
  /// Gives back all locks without a change, waits until that has arrived, and sets the completion mark.
  void release();

  // The steps of cc::RemoteCommit with the same names.
  void announce_decision(record::TidWord tid, std::uint64_t log_end) { named_.announce_decision(tid, log_end); }
  void take_back_announcement() { named_.take_back_announcement(); }

  /// Ends the transaction. Locks that it could not give back are handed over to the worker (Reach::undelivered).
  void end() noexcept;

 private:
  AbortReason name_locks(const Batch<XLock>& locks, std::span<Access* const> accesses);
  AbortReason adopt_locks(Batch<XLock>& locks, std::span<Access* const> accesses);
  AbortReason adopt_lock(XLock& lock, Access& access);
  ReleaseRun& begin_release(record::TidWord tid);
  void end_release();
  void note_removed(record::TidWord tid, std::span<const cc::RemoteWrite> writes);
  void complete();
  bool some_undelivered() const { return !undelivered_.empty(); }

  Footprint& footprint_;
  log::NamedLocks named_;            ///< names what the transaction may hold, for the recovery of this node (I10)
  std::deque<Release> undelivered_;  ///< locks that could not be given back
  std::vector<Removal> removals_;    ///< of a transaction with such locks
  std::optional<ReleaseRun> run_;    ///< while locks are given back, and what send_back() has posted is under way
};

}  // namespace granary::cluster
