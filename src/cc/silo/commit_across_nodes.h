#pragma once
// The commit of a transaction that has touched records of other nodes: Silo's phases here, with those of its remote part around them
// (RemotePart). Local records are locked last and for the shortest time; remote ones never wait for each other's holders.

#include "src/cc/remote_part.h"
#include "src/cc/silo/commit.h"

namespace granary::cc::silo {

/// As commit_fenced(). On abort nothing is locked on any node; after success everything is written back, or, where a node does not
/// answer, in the log.
CommitOutcome commit_across_nodes(AccessSet& access, WorkerState& worker, RemotePart& remote, const Right& right);

}  // namespace granary::cc::silo
