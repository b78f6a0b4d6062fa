#pragma once
// A transaction's entry in its worker's log ring (Silo 4.10, src/log/format.h).

#include <span>
#include <vector>

#include <granary/outcome.h>

#include "src/cc/access_set.h"
#include "src/cc/elsewhere/remote_part.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// What a transaction writes, here and at other nodes: it is all in the coordinator's log, and so decided at one place (I8).
struct LoggedWrites {
  const std::vector<WriteEntry>& here;
  std::span<const RemoteWrite> elsewhere = {};
};

/// Waits until the ring has room for these writes; kLogFailed if it will have none, or not for as long as the disk does not answer.
/// Before the first lock, so that nobody waits for a disk behind a lock.
AbortReason await_log_room(const LoggedWrites& writes, WorkerState& worker);

/// The same of a database that may have no log.
inline AbortReason reserve_log(const LoggedWrites& writes, WorkerState& worker) {
  return worker.ring == nullptr ? AbortReason::kNone : await_log_room(writes, worker);
}

/// Writes the entry behind the ring's end, where nobody looks, and tells its bytes; room was reserved.
std::size_t write_log_entry(const LoggedWrites& writes, WorkerState& worker, TidWord tid);

}  // namespace granary::cc
