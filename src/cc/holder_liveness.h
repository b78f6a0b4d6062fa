#pragma once
// Tells a transaction of this node whether the holder of a shared record at another node lives. Most holders give a
// record back soon. A node that has died does not: what it held stays locked until the node is recovered (I10). So a
// transaction that has waited without success asks here whether the holder lives, and ends with a reason that says so.

#include <cstdint>

#include <granary/outcome.h>

#include "src/cc/worker_state.h"
#include "src/record/shared_record.h"

namespace granary::cc {

/// Whether the state word is an x-lock of a life of a node that is over. A life that began later than the one that this
/// node knows of is not over.
inline bool held_by_dead(record::StateWord state, const DatabaseState& shared) {
  if (shared.living == nullptr || !record::is_x_locked(state)) return false;
  const record::Holder holder = record::holder_of(state);
  const membership::Generation living = shared.living->generation(static_cast<membership::NodeId>(holder.node));
  return living == 0 || static_cast<std::int16_t>(holder.generation - living) < 0;
}
inline bool held_by_dead(const Record* record, const DatabaseState& shared) {
  return record::is_shared(record) && held_by_dead(record::shared_of(*record).state(), shared);
}

/// Whether nodes of this cluster recover one another, so that a node that has died comes back while the others serve.
inline bool nodes_come_back(const WorkerState& worker) { return worker.comes_back != nullptr && *worker.comes_back; }

/// The reason to abort a transaction that needs a node which cannot be used, or a record which that node held when it
/// died.
inline AbortReason abort_reason_of_node(membership::NodeId node, const WorkerState& worker) {
  const bool comes_back = nodes_come_back(worker) && (*worker.comes_back)(node);
  return comes_back ? AbortReason::kNodeRecovering : AbortReason::kNodeUnreachable;
}

/// The reason to abort a transaction that has waited for a record with this state word: `busy`, unless the holder has
/// died.
inline AbortReason abort_reason_if_busy(record::StateWord state, const WorkerState& worker, AbortReason busy) {
  if (!held_by_dead(state, worker.shared)) return busy;
  return abort_reason_of_node(static_cast<membership::NodeId>(record::holder_of(state).node), worker);
}
inline AbortReason abort_reason_if_busy(const Record* record, const WorkerState& worker, AbortReason busy) {
  return record::is_shared(record) ? abort_reason_if_busy(record::shared_of(*record).state(), worker, busy) : busy;
}

}  // namespace granary::cc
