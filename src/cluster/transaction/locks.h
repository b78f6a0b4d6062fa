#pragma once
// A transaction's x-locks at other nodes (I2, I5, I10). They are named in the lock-ahead record before they are asked for, and given back
// with the new version if the transaction was decided, without one if not. If a connection breaks, the next one shows what became of a
// lock; a lock that cannot be given back then becomes the worker's to deliver (undelivered.h).

#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "src/cluster/record_access/release.h"
#include "src/cluster/record_access/x_lock.h"
#include "src/cluster/transaction/footprint.h"
#include "src/log/lock_ahead.h"

namespace granary::cluster {

class Locks {
 public:
  explicit Locks(Footprint& footprint);

  /// Tells why the worker may not take more: it has too many that it could not give back. kNone if it may.
  AbortReason refused() const {
    return footprint_.reach().undelivered.full() ? AbortReason::kTooMuchUndelivered : AbortReason::kNone;
  }
  /// Adds the lock of a record to those to take, with registered memory to give it back with a new value of so many bytes. Returns
  /// nullptr if that memory is used up.
  XLock* add(Batch<XLock>& locks, Access& access, std::size_t value_bytes, XLock::Fetch fetch = XLock::Fetch::kHeader);
  /// Takes the locks, one for each access. `holds` has the locks and the leases that are taken in the same round.
  AbortReason take(Batch<XLock>& locks, std::span<Access* const> accesses, std::span<AccessStep* const> holds,
                   Participants::With with = Participants::With::kEpoch);
  /// Gives back all locks that are held. With a `tid`, records that were written get their new version. The lock-ahead record gets its
  /// completion mark if no lock is left.
  void give_back(Phase phase, record::TidWord tid);
  /// Gives back all locks with what was written, and waits for nothing: all that the transaction has stays until under_way() is false. In a
  /// fiber only, whose scheduler looks for what has arrived.
  void send_back(record::TidWord tid);
  /// Whether what was sent back has not arrived. The lock-ahead record gets its completion mark when it has.
  bool under_way();

  // These two are the steps of the same names of cc::RemotePart.
  void decide(record::TidWord tid, std::uint64_t log_end) { record_.decide(tid, log_end); }
  void take_back_decision() { record_.take_back_decision(); }

  /// Ends the transaction's part here: locks that it could not give back become the worker's to deliver.
  void end();

 private:
  AbortReason name(const Batch<XLock>& locks, std::span<Access* const> accesses);
  AbortReason settle(Batch<XLock>& locks, std::span<Access* const> accesses);
  AbortReason settle(XLock& lock, Access& access);
  Batch<AccessStep*> add_releases(record::TidWord tid, Batch<Release>& releases);
  void arrived();
  template <typename Resumable>
  void go_on(Phase phase, Resumable& step);

  /// What send_back() has posted. It counts among what the worker has under way.
  struct Sent {
    Sent(Batch<Release> all, Reach& of) : reach(of), releases(std::move(all)), chains(of.scheduler, of.endpoint) {
      ++reach.under_way;
    }
    ~Sent() { --reach.under_way; }
    Sent(const Sent&) = delete;
    Sent& operator=(const Sent&) = delete;

    Reach& reach;
    Batch<Release> releases;
    rdma::fiber::Chains chains;
  };

  Footprint& footprint_;
  log::LockRecord record_;  ///< what it may hold x-locked, for whoever recovers this node
  std::deque<Release> undelivered_;
  std::optional<Sent> sent_;
};

}  // namespace granary::cluster
