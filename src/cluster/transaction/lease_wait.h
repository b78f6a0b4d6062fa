#pragma once
// A lease that keeps a transaction from a lock: its next attempt would meet it again, so the worker waits for its end in between.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/cluster/transaction/reach.h"

namespace granary::cluster {

class LeaseWait {
 public:
  void note(std::uint64_t end_us) { end_us_ = std::max(end_us_, end_us); }
  bool due() const { return end_us_ != 0; }

  /// Waits for the end, if one was noted. Nothing is held meanwhile, nor E held back. Not longer than a lease can last, by another clock
  /// than that which leases are judged by: that may stand still, or have been set back.
  void wait(Reach& reach) {
    const std::uint64_t end_us = std::exchange(end_us_, 0);
    if (end_us == 0 || reach.time == nullptr) return;
    const base::TimeReading begin = reach.time->read();
    // From its taker's reading plus the error on; our clock may be behind that reading by as much, and wants to see it over by as much.
    const std::uint64_t until_us = reach.now_us() + reach.lease_us + 3 * begin.error_us;
    for (std::uint32_t turn = 0; reach.now_us() <= until_us && !cc::shut_out(reach.worker.shared); ++turn) {
      const base::TimeReading now = reach.time->read();
      if (!now.known || now.expired(end_us)) break;
      reach.waiter.pause(turn);
    }
  }

 private:
  std::uint64_t end_us_ = 0;  ///< 0: there is none
};

}  // namespace granary::cluster
