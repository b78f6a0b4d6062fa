#pragma once
// The phases of the commit with locks, for those who put them together.

#include <cstddef>

#include <granary/outcome.h>

#include "src/cc/access_set.h"
#include "src/cc/worker_state.h"

namespace granary::cc::silo {

/// Phase 1: locks the write set in the order of addresses, so that transactions that wait for each other's locks never form a
/// cycle. On an abort nothing is locked.
AbortReason lock_writes(AccessSet& access, const WorkerState& worker);
/// Gives up what lock_writes() took.
void unlock_writes(AccessSet& access);

}  // namespace granary::cc::silo
