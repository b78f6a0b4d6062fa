#include "src/cluster/transaction/abort_reasons.h"

#include <algorithm>

#include "src/cc/holder_liveness.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {
namespace {

/// The owner does not say which dead node held the record. So if any node is being recovered, it may be that one.
AbortReason abort_reason_of_dead_holder(rdma::NodeId owner, const Reach& reach) {
  for (rdma::NodeId index = 0; index < reach.layout.nodes; ++index) {
    const AbortReason reason = cc::abort_reason_of_node(reach.layout.id_at(index), reach.worker);
    if (reason == AbortReason::kNodeRecovering) return reason;
  }
  return cc::abort_reason_of_node(owner, reach.worker);
}

/// Whether the state word is the x-lock of another open transaction of the same worker, which cannot end while this one
/// waits or is run again: what a `run` holds by declare() when its body calls another `run`, or what was begun outside
/// of fibers. Other fibers' transactions end meanwhile, and those whose handles were dropped, wherever they were
/// begun. A lock that is being given back, or could not be delivered, is not held by an open transaction any more.
bool is_held_by_own_worker(record::StateWord state, const Reach& reach) {
  if (!reach.holders.has_made(state)) return false;
  return std::ranges::any_of(reach.footprints, [state](const Footprint* footprint) {
    return footprint->holds(state) && !footprint->goes_on(footprint->fiber);
  });
}

AbortReason abort_reason_if_busy(record::StateWord state, const Reach& reach, AbortReason busy) {
  if (is_held_by_own_worker(state, reach)) return AbortReason::kLockedByOwnWorker;
  return cc::abort_reason_if_busy(state, reach.worker, busy);
}

}  // namespace

AbortReason abort_reason_of_former_life(rdma::NodeId node, const Reach& reach) {
  return cc::nodes_come_back(reach.worker) ? AbortReason::kNodeRecovering
                                           : cc::abort_reason_of_node(node, reach.worker);
}

AbortReason abort_reason_of_failure(const rdma::fiber::Step& step, const Reach& reach) {
  return reach.is_over(step.node(), step.generation()) ? abort_reason_of_former_life(step.node(), reach)
                                                       : cc::abort_reason_of_node(step.node(), reach.worker);
}

AbortReason abort_reason_of(const AccessStep& step, const Reach& reach) {
  switch (step.outcome()) {
    case AccessOutcome::kDone:
    case AccessOutcome::kMissing: return AbortReason::kNone;
    case AccessOutcome::kMoved: return AbortReason::kRecordReplaced;
    case AccessOutcome::kChanged: return AbortReason::kReadChanged;
    case AccessOutcome::kNoTime: return AbortReason::kLeaseExpired;
    case AccessOutcome::kOpen:
    case AccessOutcome::kBusy: return AbortReason::kRecordBusy;
    // The fabric may know of the node's next life before this node has been told of it.
    case AccessOutcome::kStale: return abort_reason_of_former_life(step.node(), reach);
    default: return abort_reason_of_failure(step, reach);
  }
}

AbortReason abort_reason_of(const AccessStep& step, record::StateWord state, const Reach& reach) {
  const AbortReason reason = abort_reason_of(step, reach);
  return step.outcome() == AccessOutcome::kBusy ? abort_reason_if_busy(state, reach, reason) : reason;
}

AbortReason abort_reason_of(const messages::Question& question, const Reach& reach) {
  using messages::AskOutcome;
  using messages::ReplyStatus;
  if (question.outcome() == AskOutcome::kAnswered) return AbortReason::kNone;
  if (question.outcome() == AskOutcome::kTooLarge || question.outcome() == AskOutcome::kAnswerTooLarge)
    return AbortReason::kMessageTooLarge;
  if (question.outcome() == AskOutcome::kNoMemory) return AbortReason::kOutOfMemory;
  if (question.outcome() != AskOutcome::kRefused) return cc::abort_reason_of_node(question.node(), reach.worker);
  switch (question.status()) {
    case ReplyStatus::kBusy: return AbortReason::kRecordBusy;
    case ReplyStatus::kOutOfMemory: return AbortReason::kOutOfMemory;
    case ReplyStatus::kHeldByDead: return abort_reason_of_dead_holder(question.node(), reach);
    default:
      return cc::abort_reason_of_node(question.node(),
                                      reach.worker);  // the node is of another version, or has other tables
  }
}

}  // namespace granary::cluster
