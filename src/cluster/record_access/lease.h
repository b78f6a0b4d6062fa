#pragma once
// Leases another node's record, so that nobody changes it until the lease ends (I9; DrTM, slides 28 to 35). The
// protocol lease_2pl reads with leases and writes with x-locks (x_lock.h); src/cluster/transaction/declared_keys.h uses
// both.
//
// Taking one. One chain CASes the state word from free, or from a lease that has expired, to the end that is wanted,
// and READs the header.
//
// Sharing one. A lease that is there and ends late enough is shared: the READ that came with the CAS was made under it.
// An earlier READ that showed the lease was made under it, too, and then no step is needed (LeaseTerm::can_share). A
// lease is never made longer, because readers that come one after the other would keep writers away for ever. Nobody
// waits for the end of a lease that is too short to share; the record is then read optimistically.
//
// The gap. A lease does not follow another at once: in the gap between them come the writers that have waited for the
// end. A writer meets the next lease only if it needs longer than the gap to come to its lock.
//
// The lock bit. The header counts once the owner's lock bit is clear, as for an x-lock (x_lock.h): an owner whose lock
// is older than the lease may still be writing. Later bits are those of owners that will see the lease and back off. If
// TID and incarnation are those of an earlier READ, that READ shows the record as it is; else the record is READ again.
//
// Nobody gives a lease back: it ends. So nothing has to be found out when a connection breaks or a node dies.

#include "src/base/soft_time.h"
#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/remote_record.h"
#include "src/cluster/record_access/x_lock.h"

namespace granary::cluster {

/// Returns the function by which XLock tells expired leases, by the cluster's time.
inline LeaseExpired expired_by(const base::SoftTime& time) {
  return [&time](std::uint64_t end_us) { return time.read().expired(end_us); };
}

/// The end and the gap of the leases that a transaction takes, in the cluster's time.
struct LeaseTerm {
  std::uint64_t end_us = 0;        ///< of a lease that has to be made
  std::uint64_t least_end_us = 0;  ///< one that is there already is shared if it does not end sooner
  std::uint64_t gap_us = 0;        ///< from when writers may take the record until the next lease may

  /// Whether a record that was READ unlocked with this state word is under a lease that can be shared.
  bool can_share(record::StateWord seen, const base::TimeReading& now) const {
    return record::is_lease(seen) && now.valid(record::lease_end_us(seen)) &&
           record::lease_end_us(seen) >= least_end_us;
  }
  /// Whether a new lease may replace this one, because it and the gap behind it are over. By our clock it may be over
  /// by twice the clock's error when a writer finds it expired, and the gap begins.
  bool can_replace(record::StateWord seen, const base::TimeReading& now) const {
    return record::is_lease(seen) && now.expired(record::lease_end_us(seen), now.error_us + gap_us);
  }
  /// Whether the record is under a lease that can be neither shared nor replaced, so that a step would fail.
  bool is_useless(record::StateWord seen, const base::TimeReading& now) const {
    return record::is_lease(seen) && !can_share(seen, now) && !can_replace(seen, now);
  }
};

class Lease final : public AccessStep {
 public:
  static constexpr std::size_t buffer_bytes(std::size_t key_bytes) {
    return base::kWord + record::shared_value_offset(key_bytes);
  }

  /// `time` outlives it. `seen`: the state word as it was last. If it has changed, the lease costs one more round.
  Lease(const RemoteRecord& record, const LeaseTerm& term, void* buffer, const base::SoftTime& time,
        record::StateWord seen = record::kFree);

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;

  /// After kDone: returns the TID of the version, which may be absent. It stays while the lease is valid.
  record::TidWord tid() const { return record::unlocked(copy().head.tid_word); }
  std::uint64_t incarnation() const { return record::incarnation_of(copy().head.size_word); }
  /// When it ends: as was wanted, or as the one that is shared.
  std::uint64_t end_us() const { return end_us_; }
  /// Whether the lease is still valid. Ask last: if it is, everything that the reader relies on held at one moment.
  bool valid(const base::TimeReading& now) const { return now.valid(end_us_); }
  /// kBusy: the state word that was in the way, if one was; a lease that ends too soon to be shared, or not to be taken
  /// over.
  record::StateWord holder() const { return holder_; }

 private:
  rdma::fiber::Next taken(std::uint64_t end_us);
  rdma::fiber::Next not_taken(record::StateWord seen);
  rdma::fiber::Next look();
  rdma::fiber::Next begin_again(record::StateWord seen, rdma::fiber::Next when);
  rdma::fiber::Next give_up(record::StateWord seen);
  /// What the next CAS expects: free, or this lease if it may be taken over. Otherwise the CAS is bound to fail, and
  /// only READs the word.
  record::StateWord expected_after(record::StateWord seen) const;

  const record::SharedRecord& copy() const { return *reinterpret_cast<const record::SharedRecord*>(words_ + 1); }

  RemoteRecord record_;
  LeaseTerm term_;
  std::uint64_t* words_;  ///< the CAS's old value; header and key
  const base::SoftTime* time_;
  bool taken_ = false;
  record::StateWord expected_ = record::kFree;
  record::StateWord holder_ = record::kFree;
  std::uint64_t end_us_ = 0;
};

}  // namespace granary::cluster
