#pragma once
// Chooses the TID of a committing transaction (Silo 4.2, I1). Used by the protocols silo, drtm and two-phase locking.

#include <algorithm>

#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/worker_state.h"

namespace granary::cc::silo {

static_assert(record::kMaxEpoch == epoch::kLastEpoch, "E stops at the last epoch that a TID can name");

/// Tells why choose_tid() found none in the epoch.
inline AbortReason no_tid_left(epoch::Epoch epoch) {
  return epoch >= epoch::kLastEpoch ? AbortReason::kEpochsUsedUp : AbortReason::kTidsUsedUp;
}

/// I1: returns a TID of this epoch that is greater than every TID that was read or will be overwritten, and than this
/// worker's last. `remote_bound` is the greatest TID that was read or will be overwritten at other nodes. Returns 0 if
/// the epoch has no such TID left, or is the last epoch, in which no transaction writes (no_tid_left() tells which).
inline TidWord choose_tid(const AccessSet& access, WorkerState& worker, epoch::Epoch epoch, TidWord remote_bound) {
  TidWord greatest = std::max(worker.last_tid, record::tid_of(remote_bound));
  if (!base::injected("ignore-observed-tids")) {
    for (const ReadEntry& read : access.reads) greatest = std::max(greatest, record::tid_of(read.tid));
    for (const WriteEntry& write : access.writes.entries()) {
      greatest = std::max(greatest, record::tid_of(write.record->tid(std::memory_order_relaxed)));
    }
  }
  if (worker.shared.settings.global_tids) {
    // Relaxed: TIDs only have to be unique and to grow, and records are published by their own TID words.
    TidWord last = worker.shared.global_tid.load(std::memory_order_relaxed);
    TidWord next;
    do {
      next = std::max({last, greatest, record::make_tid(epoch, 0)}) + record::make_tid(0, 1);
    } while (!worker.shared.global_tid.compare_exchange_weak(last, next, std::memory_order_relaxed));
    return record::epoch_of(next) == epoch && epoch < epoch::kLastEpoch ? next : 0;
  }
  // The worker's first TID of the epoch. The last epoch has to be noticed only here, since no TID of it is ever handed
  // out.
  if (record::epoch_of(greatest) < epoch) return epoch < epoch::kLastEpoch ? record::make_tid(epoch, 1) : 0;
  const bool left = record::epoch_of(greatest) == epoch && record::sequence_of(greatest) < record::kMaxSequence;
  return left ? greatest + record::make_tid(0, 1) : 0;
}

}  // namespace granary::cc::silo
