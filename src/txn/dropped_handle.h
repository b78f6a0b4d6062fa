#pragma once
// Notes that a handle (Transaction, Snapshot) was dropped by another thread than its worker's. That thread may not end
// what is open, since all of it is the worker's thread's, which ends it when it comes round (WorkerCore::end_dropped).

#include <atomic>
#include <cstdint>

namespace granary::txn {

class DroppedHandle {
 public:
  /// Called by any thread. The greatest serial counts: a context has at most one handle whose transaction is open, and
  /// older ones may be dropped after it. Returns false if nothing was to be noted.
  bool note(std::uint64_t serial) {
    std::uint64_t noted = serial_.load(std::memory_order_relaxed);
    while (noted < serial) {
      if (serial_.compare_exchange_weak(noted, serial, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  /// The serial of the last handle that was dropped so; 0: none was. Called by the worker's thread.
  std::uint64_t serial() const { return serial_.load(std::memory_order_relaxed); }

 private:
  // Written by whoever drops a handle, read by the worker's thread. Relaxed, as nothing else is handed over with it:
  // whoever ends what was dropped sees it by the acquire of WorkerCore::dropped_. Whoever meets a lock of the
  // transaction before that (Context::is_dropped) may see it late, which is as if the handle had been dropped later.
  std::atomic<std::uint64_t> serial_{0};
};

}  // namespace granary::txn
