#pragma once
// These are the looks that a commit in an HTM region takes besides those at its records.

#include "src/base/soft_time.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/region/verdicts.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// The TID's epoch is still E, so the region's end may be the serialization point.
template <typename Memory>
bool is_epoch_in(Memory& memory, const WorkerState& worker, epoch::Epoch epoch) {
  return memory.load(worker.shared.epochs.word()) == epoch || base::injected("region-ignores-epoch");
}

template <typename Memory>
htm::Verdict check_nodes_in(Memory& memory, const AccessSet& access) {
  for (const NodeSet<Place>::Seen& seen : access.nodes) {
    if (base::injected("skip-node-validation")) break;
    if (!seen.place.unchanged_in(memory, seen.version)) return htm::Verdict::give_up(kNodeChanged);
  }
  return htm::Verdict::done();
}

/// I9: what was read elsewhere under leases is unchanged as long as these are valid, so they must be at the region's end. It
/// subscribes to the softtime, and lasts far shorter than the clock's error.
template <typename Memory>
bool leases_valid_in(Memory& memory, const WorkerState& worker, const base::LeaseEnd& held) {
  const base::SoftTime* const time = worker.shared.time;
  return held.end_us == kHeldForever.end_us || (time != nullptr && time->read_in(memory).valid(held));
}

}  // namespace granary::cc
