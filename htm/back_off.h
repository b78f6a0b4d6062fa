#pragma once
// Says how often a region is retried, and how long to wait before.

#include <array>
#include <cstdint>

#include "htm/attempt.h"
#include "src/base/random.h"
#include "src/base/waiter.h"

namespace granary::htm {

/// How often a region is attempted, by the cause of the abort that came before. Waits between double from one pause on,
/// with jitter; where waiting cannot help there is none.
struct Policy {
  std::array<std::uint32_t, kCauses> retries = {
      8,  ///< conflict: the other one is done soon
      1,  ///< capacity: perhaps another thread of the core took the room
      8,  ///< explicit, if the body said retry(): a lock is held
      2,  ///< other: perhaps an interrupt; a page fault comes back each time
  };
  std::uint32_t max_pauses = 64;  ///< of one wait
};

class BackOff {
 public:
  /// `stream` tells the threads' chances apart.
  BackOff(const Policy& policy, std::uint64_t stream, base::Waiter& waiter);

  /// Waits after the `aborts`-th abort with this cause.
  void wait_after(Cause cause, std::uint32_t aborts);

 private:
  const std::uint32_t max_pauses_;
  base::Waiter& waiter_;
  base::Random random_;
};

}  // namespace granary::htm
