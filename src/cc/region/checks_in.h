#pragma once
// Makes the checks of a commit inside an HTM region besides those of its records: of E, of the node set, and of the
// leases on records of other nodes. Used by the two participants that run in regions (region.h,
// drtm/commit_in_open_region.h).

#include "src/base/soft_time.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/elsewhere/remote_commit.h"
#include "src/cc/region/region_code.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// Whether E is still the epoch of the transaction's TID. The region has read E, so E cannot change before the region
/// ends, and the region's end may be the serialization point.
template <typename Memory>
bool is_epoch_in(Memory& memory, const WorkerState& worker, epoch::Epoch epoch) {
  return memory.load(worker.shared.epochs.word()) == epoch || base::injected("region-ignores-epoch");
}

/// validate_nodes() inside a region.
template <typename Memory>
htm::Verdict check_nodes_in(Memory& memory, const AccessSet& access) {
  for (const NodeSet<IndexNode>::Seen& seen : access.nodes) {
    if (base::injected("skip-node-validation")) break;
    if (!seen.place.unchanged_in(memory, seen.version)) return give_up(RegionCode::kNodeChanged);
  }
  return htm::Verdict::done();
}

/// I9: whether the leases on records of other nodes are valid. What was read under a lease stays unchanged while the
/// lease is valid, so the leases must be valid at the region's end. The region has read softtime's words, so softtime
/// cannot change before the region ends, and the region takes far less time than the clock's error.
template <typename Memory>
bool leases_valid_in(Memory& memory, const WorkerState& worker, const base::LeaseEnd& held) {
  const base::SoftTime* const time = worker.shared.time;
  return held.end_us == kHeldForever.end_us || (time != nullptr && time->read_in(memory).valid(held));
}

}  // namespace granary::cc
