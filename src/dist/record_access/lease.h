#pragma once
// I9: reads a record under a lease, so that nobody changes it until the lease ends (DrTM, slides 28 to 35).
//
// One chain: CAS the state word from free, or from a lease that has expired, to the end that is wanted; then READ the record. A
// lease that is there and ends late enough is shared: the READ that came with the CAS was under it, and so was an earlier one in
// which it was seen, for which no step is needed (shared()). It is never made longer, as readers who come one after the other would
// keep writers away for ever. Nor is the end of one waited for that is too short to share: whoever has a value reads it
// optimistically. Then whoever comes first has the record, a writer or the next lease.
//
// What was READ counts once the owner's lock bit is clear, as for an x-lock (x_lock.h): an owner whose lock is older than the
// lease may still be writing. Later bits are of owners who will see the lease and give way.
//
// Nobody gives a lease back: it ends. So nothing has to be found out when a connection breaks or a node dies.

#include <optional>

#include "src/base/soft_time.h"
#include "src/dist/record_access/checked_read.h"
#include "src/dist/record_access/x_lock.h"

namespace granary::dist {

/// For XLock, by the clock that leases are judged by.
inline LeaseExpired expired_by(const base::SoftTime& time) {
  return [&time](std::uint64_t end_us) { return time.read().expired(end_us); };
}

/// In the cluster's time.
struct LeaseTerm {
  std::uint64_t end_us = 0;        ///< of a lease that has to be made
  std::uint64_t least_end_us = 0;  ///< one that is there already is shared if it does not end sooner
};

class Lease final : public AccessStep {
 public:
  static std::size_t buffer_bytes(const RemoteRecord& record) { return base::kWord + record.bytes(); }

  /// `time` outlives it. `seen`: the state word as it was last; that it has changed costs a round.
  Lease(const RemoteRecord& record, const LeaseTerm& term, void* buffer, const base::SoftTime& time,
        record::StateWord seen = record::kFree);

  /// Whether what was READ with this state word, unlocked, is under a lease that can be shared.
  static bool shared(record::StateWord seen, const LeaseTerm& term, const base::TimeReading& now) {
    return record::is_lease(seen) && now.valid(record::lease_end_us(seen)) &&
           record::lease_end_us(seen) >= term.least_end_us;
  }

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next settle() override;

  /// kDone, kMissing: what is there and stays while the lease is valid.
  const CheckedRead& read() const { return read_; }
  /// When it ends: as was wanted, or as the one that is shared.
  std::uint64_t end_us() const { return end_us_; }
  /// To be asked after all else that the reader relies on: then it held all of that at one moment.
  bool valid(const base::TimeReading& now) const { return now.valid(end_us_); }
  /// kBusy: the state word that was in the way, if one was; a lease that ends too soon to be shared, or not to be taken over.
  record::StateWord holder() const { return holder_; }

 private:
  rdma::fiber::Next taken(std::uint64_t end_us);
  rdma::fiber::Next not_taken(record::StateWord seen);
  rdma::fiber::Next look();
  rdma::fiber::Next begin_again(record::StateWord seen, rdma::fiber::Next when);
  rdma::fiber::Next give_up(record::StateWord seen);
  /// What the next CAS expects: free, or this lease if it has expired. Otherwise it is bound to fail, and a look.
  record::StateWord expected_after(record::StateWord seen) const;

  LeaseTerm term_;
  std::uint64_t* words_;  ///< the CAS's old value; the record
  const base::SoftTime* time_;
  CheckedRead read_;
  bool taken_ = false;
  record::StateWord expected_ = record::kFree;
  record::StateWord holder_ = record::kFree;
  std::uint64_t end_us_ = 0;
};

}  // namespace granary::dist
