#pragma once
// Memory that workers have and others could use: garbage and free blocks of workers whose own threads do not look after
// them just now. One thread at a time, the one that advances E.

#include "src/cc/database_state.h"
#include "src/db/workers.h"
#include "src/epoch/epoch.h"

namespace granary::db {

class MemoryRelief {
 public:
  MemoryRelief(cc::DatabaseState& shared, Workers& workers)
      : shared_(shared),
        workers_(workers),
        slot_(shared.epochs.acquire_slot()) {}

  /// Does nothing in a turn in which another thread holds the workers still.
  ///
  /// Frees what workers that are gone left behind, and passes their free blocks on. If somebody has found no memory,
  /// also frees the garbage of workers that are registered and in no transaction, and takes extents that are all free
  /// away from their size classes.
  void look();

 private:
  void relieve();

  cc::DatabaseState& shared_;
  Workers& workers_;
  epoch::Slot* const slot_;
};

}  // namespace granary::db
