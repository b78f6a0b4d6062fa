#pragma once
// The commit protocol of Silo (4.4, Figure 2): lock the write set, validate read and node sets, install.

#include <cstdint>

#include <granary/outcome.h>

#include "src/cc/access_set.h"
#include "src/cc/worker_state.h"

namespace granary::cc::silo {

struct CommitOutcome {
  AbortReason reason = AbortReason::kNone;
  TidWord tid = 0;         ///< of the transaction, status bits clear; 0 if it wrote nothing
  epoch::Epoch epoch = 0;  ///< of its serialization point
};

/// Commits or aborts. The caller's epoch slot is entered and stays so. On abort no record is locked or changed;
/// placeholders stay in the tree, for abandon() to register.
CommitOutcome commit(AccessSet& access, WorkerState& worker);

/// Phase 2 alone: would the reads pass now? For reporting an error only if it was seen in a consistent state.
AbortReason validate(const AccessSet& access);

/// What every abort owes: registers the placeholders that the transaction put into trees (Silo 4.5).
void abandon(AccessSet& access, WorkerState& worker);

}  // namespace granary::cc::silo
