#pragma once
// The commit (src/cc/commit.h) by Silo's protocol.

#include "src/cc/access_set.h"
#include "src/cc/elsewhere/remote_part.h"
#include "src/cc/participant.h"
#include "src/cc/worker_state.h"

namespace granary::cc::silo {

/// Of a transaction of a database that is no node of a cluster.
CommitOutcome commit(AccessSet& access, WorkerState& worker);
/// The same on a node of a cluster, which may lose its right to commit at any time. The transaction needs it behind the last wait of
/// the commit, and, if it has only read, behind its validation: what it reports must have held while nobody counted the node as dead.
CommitOutcome commit_fenced(AccessSet& access, WorkerState& worker, const Right& right);
/// The same of a transaction that has touched records of other nodes.
CommitOutcome commit_across_nodes(AccessSet& access, WorkerState& worker, RemotePart& remote, const Right& right);

/// Would the reads pass now? For reporting an error only if it was seen in a consistent state.
AbortReason validate(const AccessSet& access);

}  // namespace granary::cc::silo
