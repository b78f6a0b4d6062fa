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
/// The same on a node of a cluster, which may lose its right to commit at any time. The transaction needs it behind the last wait of
/// the commit, and, if it has only read, behind its validation: what it reports must have held while nobody counted the node as dead.
CommitOutcome commit_fenced(AccessSet& access, WorkerState& worker, const Right& right);

/// Phase 2 alone: would the reads pass now? For reporting an error only if it was seen in a consistent state.
AbortReason validate(const AccessSet& access);

/// What every abort owes: registers the placeholders that the transaction put into trees (Silo 4.5).
void abandon(AccessSet& access, WorkerState& worker);

}  // namespace granary::cc::silo
