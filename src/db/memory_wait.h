#pragma once
// Waits for memory in one Worker::run(). Garbage only has to wait for its epoch (Silo 4.8, 4.9) until it can be freed:
// an old version for two snapshot periods at most, unless a snapshot is open for longer. So a transaction that found no
// memory is tried again as long as there is garbage that becomes free as epochs pass, and no longer. Between attempts
// the worker is in no epoch slot and has no lock.

#include <cstdint>

#include "src/txn/worker_core.h"

namespace granary::db {

class MemoryWait {
 public:
  /// Frees what may be freed, or else waits for the next epoch, after an attempt that has ended for want of memory.
  /// Returns whether another attempt is worth it. It is not if all memory is in use, a snapshot holds the garbage,
  /// epochs do not pass (Background::kManual, or a transaction that holds them back), or the longest wait is over.
  bool await(txn::WorkerCore& worker);

 private:
  bool begun_ = false;
  bool over_ = false;             // whether E was beyond last_ at the latest call
  epoch::Epoch last_ = 0;         // the last E in which it waits
  std::uint64_t first_look_ = 0;  // the MemoryReliefReport::looks from which looks count for this wait
};

}  // namespace granary::db
