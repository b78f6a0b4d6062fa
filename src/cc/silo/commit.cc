#include "src/cc/silo/commit.h"

#include "src/cc/commit.h"
#include "src/cc/silo/silo.h"

namespace granary::cc::silo {

CommitOutcome commit(AccessSet& access, WorkerState& worker) {
  Nowhere nowhere;
  return cc::commit<Silo>(access, worker, nowhere, EveryRight());
}

CommitOutcome commit_fenced(AccessSet& access, WorkerState& worker, const Right& right) {
  Nowhere nowhere;
  return cc::commit<Silo>(access, worker, nowhere, right);
}

CommitOutcome commit_across_nodes(AccessSet& access, WorkerState& worker, RemotePart& remote, const Right& right) {
  Elsewhere elsewhere(remote, access, worker);
  return cc::commit<Silo>(access, worker, elsewhere, right);
}

AbortReason validate(const AccessSet& access) { return cc::validate<Silo>(access); }

}  // namespace granary::cc::silo
