#pragma once
// Takes the lock bit of a local record (Silo 4.4, phase 1). All protocols claim local records by it; shared records are
// claimed by claim_shared.h.

#include <granary/outcome.h>

#include "src/base/waiter.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// Takes the record's lock bit, with at most `turns` attempts and pauses in between.
inline AbortReason lock_record(Record& record, const WorkerState& worker, std::uint32_t turns = base::kBoundedPauses) {
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    const TidWord word = record.tid();
    if (!record::is_latest(word)) return AbortReason::kRecordReplaced;
    if (!record::is_locked(word) && record.try_lock(word)) return AbortReason::kNone;
    if (turn + 1 < turns) worker.waiter->pause(turn);
  }
  return AbortReason::kWriteLocked;
}

}  // namespace granary::cc
