#pragma once
// Makes the workers of a database, each once, and keeps them: an application's thread takes a worker and gives it back,
// and the next thread takes it over.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <granary/function_ref.h>
#include <granary/status.h>

#include "src/cc/database_state.h"
#include "src/txn/worker_core.h"

namespace granary::db {

/// Thread-safe.
class Workers {
 public:
  /// `most` is how many workers there may be: Options::max_workers, or fewer if the protocol allows fewer.
  Workers(cc::DatabaseState& shared, std::uint32_t most) : shared_(shared), most_(most) {}

  Result<txn::WorkerCore*> take();
  void give_back(txn::WorkerCore* worker);
  /// Returns kFailedPrecondition, with their ids, if workers have been taken and not been given back.
  Status check_none_taken() const;
  /// Gives the workers that were made before there was a log their rings. Precondition: no worker is taken.
  Status connect_rings();

  // While the lock of hold_still() is held, and while for_each() runs, no worker is taken or given back.
  std::unique_lock<std::mutex> hold_still() const { return std::unique_lock(mutex_); }
  void for_each(FunctionRef<void(txn::WorkerCore&)> act) const;

  // These are for the thread that advances E. It must not wait for a thread that holds the workers still for long
  // (resize) or makes a ring; if there is one, they do nothing and return false.
  bool try_for_each(FunctionRef<void(txn::WorkerCore&)> act) const;
  bool try_for_each_idle(FunctionRef<void(txn::WorkerCore&)> act) const;

 private:
  Status connect_ring(txn::WorkerCore& worker) const;

  cc::DatabaseState& shared_;
  const std::uint32_t most_;
  mutable std::mutex mutex_;  // guards the lists, not the workers
  std::vector<std::unique_ptr<txn::WorkerCore>> all_;
  std::vector<txn::WorkerCore*> idle_;
};

}  // namespace granary::db
