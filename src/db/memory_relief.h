#pragma once
// Takes memory from workers that have it and gives it to others that could use it: the garbage and the free blocks of
// workers whose own threads do not look after them at present. Only the thread that advances E calls it.

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

  /// Frees the garbage of workers that nobody has registered at present, and passes their free blocks on. If a worker
  /// has found no memory, it also frees the garbage of workers that are registered and in no transaction, and takes
  /// extents that are all free away from their size classes.
  ///
  /// A turn ends when it has freed many items, so that E does not stand still for long; the next one goes on.
  ///
  /// Does nothing in a turn in which another thread holds the workers still.
  void look();

 private:
  void relieve(std::size_t budget);

  cc::DatabaseState& shared_;
  Workers& workers_;
  epoch::Slot* const slot_;
  std::size_t first_ = 0;  // the worker at which relieve() begins, as the turn before had no budget left for it
};

}  // namespace granary::db
