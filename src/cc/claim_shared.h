#pragma once
// This is how a commit claims a record of this node that another node may hold, whatever the protocol.

#include "src/cc/held_records.h"
#include "src/cc/participant.h"
#include "src/cc/worker_state.h"
#include "src/record/shared_lock.h"

namespace granary::cc {

/// Takes the lock bit by the owner's rule (I2), in so many turns at most. `is_free` tells whether the owner may change a record in this state. A state
/// that is in the owner's way, and no x-lock, is a lease. Nobody waits for its end here, where others may wait for what is locked already.
template <typename IsFree>
AbortReason claim_shared(record::SharedRecord& record, const WorkerState& worker, std::uint32_t turns,
                         const IsFree& is_free) {
  using record::OwnerLock;
  AbortReason reason = AbortReason::kWriteLocked;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    const TidWord word = record.head.tid();
    if (!record::is_latest(word)) return AbortReason::kRecordReplaced;
    if (!record::is_locked(word)) {
      const OwnerLock locked = record::lock_as_owner(record, word, is_free);
      if (locked == OwnerLock::kTaken) return AbortReason::kNone;
      reason = locked == OwnerLock::kHeldRemotely ? AbortReason::kRemotelyLocked : AbortReason::kWriteLocked;
      const record::StateWord state = record.state();
      if (!record::is_x_locked(state) && !is_free(state)) return AbortReason::kRemotelyLocked;
    }
    worker.waiter->pause(turn);
  }
  return why_busy(record.state(), worker, reason);
}

}  // namespace granary::cc
