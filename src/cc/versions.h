#pragma once
// Keeps old versions of records, which snapshots read (Silo 4.9): says when a version is kept, and makes its copy. Used
// by commits of this node (install.cc), and for versions that are kept at other nodes (src/cluster).

#include <cstddef>

#include "src/base/test_hooks.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// Whether a snapshot may still need the version with the TID word `old`, which a write of the snapshot period `period`
/// supersedes. It may if the version is of an older period, since it is then the last version of that period (I16). A
/// placeholder (TID 0) is no version.
inline bool snapshots_may_need(const WorkerState& worker, TidWord old, epoch::Epoch period) {
  if (!worker.shared.settings.snapshots || record::tid_of(old) == 0) return false;
  return record::epoch_of(old) < period && !base::injected("overwrite-snapshot");
}

/// Allocates a local record; nullptr at the memory limit. Old versions of shared records are local records, too.
Record* allocate_record(WorkerState& worker, std::size_t value_bytes, memory::Urgency urgency);

/// Makes `to`, which no other thread knows, a copy of the version that `from` has under the unlocked TID word `old`.
/// Returns false if the value has become too large for `to`, which happens only if `from` is not locked.
bool copy_version(const Record& from, std::size_t key_bytes, TidWord old, Record& to, const WorkerState& worker);

}  // namespace granary::cc
