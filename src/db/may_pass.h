#pragma once
// Which reasons for an abort are no conflict, but go away without anybody changing the transaction.

#include <granary/outcome.h>

#include "cluster_config/membership/fence.h"
#include "src/cc/database_state.h"

namespace granary::db {

/// Whether RetryPolicy::patience_us is for it.
inline bool may_pass(AbortReason reason, const cc::DatabaseState& shared) {
  if (reason == AbortReason::kMembershipLost)  // not if it is for good
    return shared.fence != nullptr && shared.fence->number() != membership::Fence::kClosed;
  return reason == AbortReason::kNodeUnreachable || reason == AbortReason::kTooMuchUndelivered ||
         reason == AbortReason::kOutOfMemory;
}

}  // namespace granary::db
