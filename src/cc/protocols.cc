#include "src/cc/protocols.h"

#include <algorithm>

#include "src/base/test_hooks.h"
#include "src/cc/choose_participants.h"
#include "src/cc/here/here.h"

namespace granary::cc {

CommitOutcome commit_alone(AccessSet& access, WorkerState& worker) {
  return Protocols::with(worker.protocol, [&]<Protocol P> {
    if (access.isolation != Isolation::kSerializable && !RunsInRegion<P>) [[unlikely]]
      return commit_weaker<P>(access, worker);
    Nowhere nowhere;
    return commit_serializable<P>(access, worker, nowhere, EveryRight());
  });
}

CommitOutcome commit_fenced(AccessSet& access, WorkerState& worker, const CommitRight& right) {
  return Protocols::with(worker.protocol, [&]<Protocol P> {
    Nowhere nowhere;
    return commit_serializable<P>(access, worker, nowhere, right);
  });
}

CommitOutcome commit_across_nodes(AccessSet& access, WorkerState& worker, RemoteCommit& remote,
                                  const CommitRight& right) {
  return Protocols::with(worker.protocol, [&]<Protocol P> {
    Elsewhere elsewhere(remote, access, worker);
    return commit_serializable<P>(access, worker, elsewhere, right);
  });
}

AbortReason validate_now(const AccessSet& access, WorkerState& worker, TidWord stamp) {
  return Protocols::with(worker.protocol, [&]<Protocol P> {
    Moment moment = moment_of_reads<P>(access, worker.shared.epochs.current());
    moment.stamp = std::max(moment.stamp, stamp);
    // Another node may be an epoch ahead. A local rts has the low bits of its epoch only, and must not be raised to an
    // epoch that this node has not reached: a writer of this epoch would read it as a very old one.
    const bool ahead = record::epoch_of(moment.stamp) > moment.epoch && !base::injected("tictoc-validates-ahead");
    return ahead ? AbortReason::kEpochsApart : validate<P>(access, moment, worker);
  });
}

TidWord stamp_of_reads(const AccessSet& access, const WorkerState& worker) {
  return Protocols::with(worker.protocol, [&]<Protocol P> { return moment_of_reads<P>(access, 0).stamp; });
}

void note_declared(Record& record, AccessSet& access, WorkerState& worker) {
  Protocols::with(worker.protocol, [&]<Protocol P> {
    if constexpr (RunsInRegion<P>) P::declare(record, access, worker);
  });
}

void let_go(AccessSet& access, WorkerState& worker) noexcept {
  Protocols::with(worker.protocol, [&]<Protocol P> {
    if constexpr (LocksRecords<P>) P::let_go(access.held);
    if constexpr (RunsInRegion<P>) P::end(access, worker);
  });
  access.must_let_go = false;
}

void retire_owner(AccessSet& access, WorkerState& worker) {
  if (access.held.owner == 0) return;
  worker.shared.owners.give_back(access.held.owner);
  worker.own_owners &= ~access.held.owner;
  access.held.owner = 0;
}

bool may_leave_index(Record& record, const WorkerState& worker) {
  return Protocols::with(worker.protocol, [&]<Protocol P> { return P::may_leave_index(record, worker); });
}

}  // namespace granary::cc
