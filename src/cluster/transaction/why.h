#pragma once
// Tells why a transaction has to end after what it met at another node; kNone if it can go on.

#include <granary/outcome.h>

#include "src/cluster/messages/question.h"
#include "src/cluster/record_access/access_step.h"
#include "src/cluster/transaction/reach.h"

namespace granary::cluster {

AbortReason why(const AccessStep& step, const Reach& reach);
/// Also looks at the state word that was found at the record: the x-lock of a dead node is not waited for any more.
AbortReason why(const AccessStep& step, record::StateWord state, const Reach& reach);
AbortReason why(const messages::Question& question, const Reach& reach);

/// Tells why a transaction ends that knew a former life of the node. Where nodes come back, the next try may find the present life.
AbortReason why_former(rdma::NodeId node, const Reach& reach);
/// Tells why a transaction ends one of whose steps did not come through.
AbortReason why_failed(const rdma::fiber::Step& step, const Reach& reach);
/// Whether the reason says that a node could not be used.
constexpr bool is_unusable(AbortReason reason) {
  return reason == AbortReason::kNodeUnreachable || reason == AbortReason::kNodeRecovering;
}

}  // namespace granary::cluster
