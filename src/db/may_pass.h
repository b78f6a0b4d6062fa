#pragma once
// Says which reasons for an abort are no conflict, but may go away although nobody changes the transaction.

#include <granary/outcome.h>

#include "cluster_config/membership/fence.h"
#include "src/cc/database_state.h"

namespace granary::db {

/// Whether the attempt ended because memory or buffers were missing. Other transactions and the freeing of garbage may
/// bring them back (MemoryWait).
inline bool wants_memory(AbortReason reason) {
  return reason == AbortReason::kOutOfMemory || reason == AbortReason::kBuffersUsedUp;
}

/// Whether Worker::run() may wait until this reason has gone (RetryPolicy::patience_us).
inline bool may_pass(AbortReason reason, const cc::DatabaseState& shared) {
  if (reason == AbortReason::kMembershipLost)  // a closed fence does not open again
    return shared.fence != nullptr && shared.fence->number() != membership::Fence::kClosed;
  return reason == AbortReason::kNodeUnreachable || reason == AbortReason::kTooMuchUndelivered || wants_memory(reason);
}

}  // namespace granary::db
