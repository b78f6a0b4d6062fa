#pragma once
// The same commit without locks: phases 1 to 3 in one HTM region.

#include <optional>

#include "src/cc/silo/commit.h"

namespace granary::cc::silo {

/// Commits or aborts a transaction that writes; nothing if it has to be done with locks, and then nothing has happened.
/// Room in the log was reserved.
std::optional<CommitOutcome> commit_in_region(AccessSet& access, WorkerState& worker);

}  // namespace granary::cc::silo
