#pragma once
// Waits for other threads; engine code waits nowhere else. A wait for a lock is bounded: the caller gives up after
// kBoundedPauses and aborts with a reason. A wait for an event that surely comes, such as the end of a write under way,
// is not bounded. The waiter is injected, so that a simulator or fibers can run other code meanwhile.

#include <chrono>
#include <cstdint>
#include <thread>

#include "src/base/cache_line.h"
#include "src/base/give_way.h"
#include "src/base/region_mark.h"

namespace granary::base {

class Waiter {
 public:
  virtual ~Waiter() = default;
  /// Waits a moment; `turn` counts the pauses of one wait from 0.
  virtual void pause(std::uint32_t turn) = 0;
  /// Waits for a while in which a thread may sleep: for an event that comes with an epoch, not with another thread's
  /// next step.
  virtual void rest();
};

/// How many pauses a bounded wait makes before it gives up.
inline constexpr std::uint32_t kBoundedPauses = 512;

inline void Waiter::rest() { pause(kBoundedPauses); }

/// Only spins. For threads that have others to serve, and rather give up than wait.
class BriefWaiter final : public Waiter {
 public:
  void pause(std::uint32_t) override {
    outside_region();
    spin_pause();
  }
};

/// Spins briefly, then gives the processor away, because the lock holder may be waiting for it.
class ThreadWaiter final : public Waiter {
 public:
  void pause(std::uint32_t turn) override {
    outside_region();
    constexpr std::uint32_t kSpins = 64;
    if (turn < kSpins) {
      spin_pause();
    } else {
      give_way();
    }
  }
  void rest() override {
    outside_region();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
};

}  // namespace granary::base
