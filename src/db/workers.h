#pragma once
// The workers of a database, each made once and kept: an application's thread takes one and gives it back, and the next
// takes it over.

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
  /// `most`: how many there may be (Options::max_workers).
  Workers(cc::DatabaseState& shared, std::uint32_t most) : shared_(shared), most_(most) {}

  Result<txn::WorkerCore*> take();
  void give_back(txn::WorkerCore* worker);
  /// kFailedPrecondition, with their ids, if any worker has been taken and not been given back.
  Status check_none_taken() const;
  /// Gives those that were made before there was a log their rings. None is taken.
  Status connect_rings();

  // No worker is taken or given back meanwhile.
  std::unique_lock<std::mutex> hold_still() const { return std::unique_lock(mutex_); }
  void for_each(FunctionRef<void(txn::WorkerCore&)> act) const;

  // The same for the thread that advances E, which must not wait for a thread that holds workers still for long
  // (resize), or that makes a ring. Returns false if there is one, and does nothing.
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
