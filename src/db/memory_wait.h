#pragma once
// How one Worker::run() waits for memory. Garbage is not lost, it only has to wait for its epoch (Silo 4.8, 4.9): an
// old version for two snapshot periods at most, unless a snapshot is open for longer. So a transaction that found no
// memory is tried again while there is garbage that becomes free by the passing of time, and not beyond. Between
// attempts the worker is in no epoch slot and has no lock.

#include <cstdint>

#include "src/txn/worker_core.h"

namespace granary::db {

class MemoryWait {
 public:
  /// Called when an attempt has ended for want of memory. Frees what may be freed, or else waits for the next epoch.
  /// True: it is worth another attempt. False: all memory is in use, or a snapshot holds the garbage, or epochs do not
  /// pass (Background::kManual, or a transaction that holds them back), or the longest wait is over.
  bool await(txn::WorkerCore& worker);

 private:
  bool begun_ = false;
  bool over_ = false;             // E was beyond last_ at the latest call
  epoch::Epoch last_ = 0;         // E at which it gives up
  std::uint64_t first_look_ = 0;  // MemoryRelief::looks when it began
};

}  // namespace granary::db
