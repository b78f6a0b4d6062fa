#include "src/cc/held_records.h"
#include "src/cc/silo/silo.h"

namespace granary::cc::silo {

using record::OwnerLock;

AbortReason Silo::claim_shared(record::SharedRecord& record, const WorkerState& worker) {
  AbortReason reason = AbortReason::kWriteLocked;
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    const TidWord word = record.head.tid();
    if (!record::is_latest(word)) return AbortReason::kRecordReplaced;
    if (!record::is_locked(word)) {
      const OwnerLock locked = record::lock_as_owner(record, word, worker.shared.time);
      if (locked == OwnerLock::kTaken) return AbortReason::kNone;
      reason = locked == OwnerLock::kHeldRemotely ? AbortReason::kRemotelyLocked : AbortReason::kWriteLocked;
      if (record::is_leased(record.state(), worker.shared.time)) return AbortReason::kRemotelyLocked;
    }
    worker.waiter->pause(turn);
  }
  return why_busy(record.state(), worker, reason);
}

}  // namespace granary::cc::silo
