#pragma once
// Phase 3 of the commit: makes the writes visible. Everything that can fail is done in prepare().

#include <vector>

#include <granary/outcome.h>

#include "src/cc/access_set.h"
#include "src/cc/worker_state.h"

namespace granary::cc::silo {

/// Takes the memory that installing in `epoch` will need (old versions to keep, larger records). All records are
/// locked. On kOutOfMemory nothing has been taken.
AbortReason prepare(std::vector<WriteEntry>& writes, WorkerState& worker, epoch::Epoch epoch);

/// Installs every write under the TID `tid` and releases its lock. Cannot fail.
void install(std::vector<WriteEntry>& writes, WorkerState& worker, TidWord tid);

/// An injected bug: makes the first write visible before any lock is held.
void install_unlocked(std::vector<WriteEntry>& writes);

}  // namespace granary::cc::silo
