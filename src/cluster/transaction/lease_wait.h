#pragma once
// Waits for the end of a lease that has kept a transaction from an x-lock or from a write. The next attempt would meet
// the same lease, so the worker waits between the two attempts (RemoteTransaction::tidy).

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/cluster/transaction/reach.h"

namespace granary::cluster {

class LeaseWait {
 public:
  /// Notes a lease that ends at `end_us`, or no lease if that is 0.
  void note(std::uint64_t end_us) { end_us_ = std::max(end_us_, end_us); }
  bool due() const { return end_us_ != 0; }

  /// Waits until the noted leases have expired. The worker holds nothing meanwhile, and does not hold E back. It waits
  /// no longer than a lease can last by Reach::now_us, since the clock by which leases are judged may stand still or
  /// have been set back.
  void wait(Reach& reach) {
    const std::uint64_t end_us = std::exchange(end_us_, 0);
    if (end_us == 0 || reach.time == nullptr) return;
    const base::TimeReading begin = reach.time->read();
    // A lease ends at most lease_us after its taker's reading plus the error. This node's clock may be behind that
    // reading by the error, and must be past the end by the error.
    const std::uint64_t until_us = reach.now_us() + reach.lease_us + 3 * begin.error_us;
    for (std::uint32_t turn = 0; reach.now_us() <= until_us && !cc::may_not_commit(reach.worker.shared); ++turn) {
      const base::TimeReading now = reach.time->read();
      if (!now.known || now.expired(end_us)) break;
      reach.waiter.pause(turn);
    }
  }

 private:
  std::uint64_t end_us_ = 0;  ///< the latest end that was noted; 0: none was
};

}  // namespace granary::cluster
