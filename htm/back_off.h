#pragma once
// Says how often a region is retried, and how long to wait before each retry.

#include <array>
#include <cstdint>

#include "htm/attempt.h"
#include "src/base/random.h"
#include "src/base/waiter.h"

namespace granary::htm {

/// The number of retries of a region, by the cause of the preceding abort. Waits begin with up to two pauses and
/// double, with jitter. If waiting cannot help, there is none.
struct Policy {
  std::array<std::uint32_t, kCauses> retries = {
      8,  ///< conflict: the other thread is done soon
      1,  ///< capacity: perhaps another thread of the core took the room
      8,  ///< explicit, if the body said retry(): a lock is held
      2,  ///< other: perhaps an interrupt; a page fault comes back each time
  };
  std::uint32_t max_pauses = 64;  ///< of one wait
};

class BackOff {
 public:
  /// `stream` gives each thread random numbers of its own.
  BackOff(const Policy& policy, std::uint64_t stream, base::Waiter& waiter);

  /// Waits after the `aborts`-th abort with this cause.
  void wait_after(Cause cause, std::uint32_t aborts);

 private:
  const std::uint32_t max_pauses_;
  base::Waiter& waiter_;
  base::Random random_;
};

}  // namespace granary::htm
