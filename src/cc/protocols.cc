#include "src/cc/protocols.h"

#include "src/cc/commit.h"

namespace granary::cc {

CommitOutcome commit(AccessSet& access, WorkerState& worker) {
  return Protocols::with(worker.shared.settings.protocol, [&]<Protocol P> {
    Nowhere nowhere;
    return commit<P>(access, worker, nowhere, EveryRight());
  });
}

CommitOutcome commit_fenced(AccessSet& access, WorkerState& worker, const Right& right) {
  return Protocols::with(worker.shared.settings.protocol, [&]<Protocol P> {
    Nowhere nowhere;
    return commit<P>(access, worker, nowhere, right);
  });
}

CommitOutcome commit_across_nodes(AccessSet& access, WorkerState& worker, RemotePart& remote, const Right& right) {
  return Protocols::with(worker.shared.settings.protocol, [&]<Protocol P> {
    Elsewhere elsewhere(remote, access, worker);
    return commit<P>(access, worker, elsewhere, right);
  });
}

AbortReason validate(const AccessSet& access, const WorkerState& worker) {
  return Protocols::with(worker.shared.settings.protocol, [&]<Protocol P> { return validate<P>(access); });
}

}  // namespace granary::cc
