#pragma once
// Old versions of records, which snapshots read (Silo 4.9): when one is kept, and how it is made.

#include <cstddef>

#include "src/base/test_hooks.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// True if a snapshot may still need the version that a write in snapshot period `period` supersedes: the last one of an
/// older period. A placeholder (TID 0) was never born and needs no keeping.
inline bool snapshots_may_need(const WorkerState& worker, TidWord old, epoch::Epoch period) {
  if (!worker.shared.settings.snapshots || record::tid_of(old) == 0) return false;
  return record::epoch_of(old) < period && !base::injected("overwrite-snapshot");
}

/// Memory of a local record, which old versions of shared ones are, too; nullptr at the memory limit.
Record* allocate_record(WorkerState& worker, std::size_t value_bytes, memory::Urgency urgency);

/// Makes `to`, which nobody else knows, a copy of what is in `from` under the unlocked TID word `old`. False if the value has
/// outgrown it, which happens only if `from` is not held.
bool copy_version(const Record& from, std::size_t key_bytes, TidWord old, Record& to, const WorkerState& worker);

}  // namespace granary::cc
