#pragma once
// Makes a transaction's entry in its worker's log ring (Silo 4.10; the format is in src/log/format.h). The commit
// reserves room before its first lock, and Decision writes the entry (decision.h).

#include <span>
#include <vector>

#include <granary/outcome.h>

#include "src/cc/write_set.h"
#include "src/cc/elsewhere/remote_commit.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// All writes of a transaction, at this node and at other nodes. The coordinator's log has all of them, so the
/// transaction is decided at one place (I8).
struct LoggedWrites {
  const std::vector<WriteEntry>& here;
  std::span<const RemoteWrite> elsewhere = {};
};

/// Waits until the ring has room for these writes. Returns kLogFailed if the log has failed, or a device has not
/// answered for too long. A commit calls it before it claims anything, so that few transactions wait for a lock whose
/// holder waits for a disk. At that point it holds only the locks that it took before its commit (two-phase locking,
/// declared keys, records that drtm has claimed). If keep_log_room() has to wait, it holds all of its locks.
AbortReason await_log_room(const LoggedWrites& writes, WorkerState& worker);

/// Waits until the ring has room for an entry of `bytes`. Precondition: that is no more than its capacity. Returns
/// kLogFailed like await_log_room().
AbortReason await_ring_room(std::size_t bytes, WorkerState& worker);

/// Returns how much room in the ring to ask for while it is not known what a transaction will write. The entry of a
/// transaction of any likely size fits.
inline std::uint64_t likely_entry_bytes(const log::Ring& ring) { return ring.capacity() / 4; }

/// Calls await_log_room() if the database has a log.
inline AbortReason reserve_log(const LoggedWrites& writes, WorkerState& worker) {
  return worker.ring == nullptr ? AbortReason::kNone : await_log_room(writes, worker);
}

/// Makes sure, after the last wait of a commit, that the log still has room, or has it again (I30).
inline AbortReason keep_log_room(const LoggedWrites& writes, WorkerState& worker) {
  return base::injected("room-before-last-wait") ? AbortReason::kNone : reserve_log(writes, worker);
}

/// Writes the entry after the ring's tail, where no logger looks, and returns its size in bytes. Precondition: room was
/// reserved.
std::size_t write_log_entry(const LoggedWrites& writes, WorkerState& worker, TidWord tid);

}  // namespace granary::cc
