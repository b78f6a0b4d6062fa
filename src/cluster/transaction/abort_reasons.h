#pragma once
// Translates the outcomes of steps and questions at other nodes into the reason why the transaction has to end, or into
// kNone if it can go on. All parts of a transaction at other nodes use it.

#include <granary/outcome.h>

#include "src/cluster/messages/question.h"
#include "src/cluster/record_access/access_step.h"
#include "src/cluster/transaction/reach.h"

namespace granary::cluster {

AbortReason abort_reason_of(const AccessStep& step, const Reach& reach);
/// Returns the reason for a step that has found this state word at the record. If that is the x-lock of a dead node,
/// the reason says so.
AbortReason abort_reason_of(const AccessStep& step, record::StateWord state, const Reach& reach);
AbortReason abort_reason_of(const messages::Question& question, const Reach& reach);

/// Returns why a transaction has to end that knew a former life of the node. If nodes come back, the next try may find
/// the present life.
AbortReason abort_reason_of_former_life(rdma::NodeId node, const Reach& reach);
/// Returns why a transaction has to end if a step has failed, as its connection broke or its address was refused.
AbortReason abort_reason_of_failure(const rdma::fiber::Step& step, const Reach& reach);
/// Whether the reason says that a node could not be used.
constexpr bool is_unusable(AbortReason reason) {
  return reason == AbortReason::kNodeUnreachable || reason == AbortReason::kNodeRecovering;
}

}  // namespace granary::cluster
