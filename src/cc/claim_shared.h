#pragma once
// Claims a record of this node that another node may hold, by the owner's rule of I2. Silo and TicToc
// share this loop and differ in which state words let the owner in (silo/claim.cc, tictoc/shared_record.cc).

#include "src/cc/holder_liveness.h"
#include "src/cc/participant.h"
#include "src/cc/worker_state.h"
#include "src/record/shared_lock.h"

namespace granary::cc {

/// Takes the record's lock bit, with at most `turns` attempts. `is_free` tells whether the owner may change a record
/// with this state word. A state word that is neither free nor an x-lock is a lease. The claim does not wait for a
/// lease to end, since others may be waiting for the records that the transaction has locked already.
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
  return abort_reason_if_busy(record.state(), worker, reason);
}

}  // namespace granary::cc
