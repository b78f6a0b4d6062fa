#include "src/cc/silo/commit_across_nodes.h"

#include <optional>
#include <vector>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/held_records.h"
#include "src/cc/silo/choose_tid.h"
#include "src/cc/silo/commit_in_region.h"
#include "src/cc/silo/install.h"
#include "src/cc/silo/log_entry.h"
#include "src/cc/silo/phases.h"

namespace granary::cc::silo {
namespace {

using base::injected;

/// Long enough for the leader to reach all nodes: they differ by one epoch for a few round trips.
constexpr std::uint32_t kMostEpochPauses = 1 << 20;

/// I7: E of this node is not less than the agreed epoch before anything is validated or written here.
AbortReason await_epoch(WorkerState& worker, epoch::Epoch agreed) {
  for (std::uint32_t turn = 0; worker.shared.epochs.current() < agreed; ++turn) {
    if (turn == kMostEpochPauses || shut_out(worker.shared)) return AbortReason::kEpochsApart;
    worker.waiter->pause(turn);
  }
  return AbortReason::kNone;
}

/// First before anything is locked, so that nobody waits for a disk behind a lock; and again where nothing yields any more until the
/// entry is written: another transaction of the worker may have used the room since.
AbortReason find_log_room(AccessSet& access, WorkerState& worker, RemotePart& remote) {
  if (worker.ring == nullptr) return AbortReason::kNone;
  return reserve_log({access.writes.entries(), remote.writes()}, worker);
}

/// Step 2. E is read after the last lock on this node, and by the remote part after the last lock on each other.
AbortReason agree_and_validate_elsewhere(WorkerState& worker, RemotePart& remote, epoch::Epoch& epoch) {
  AbortReason reason = remote.agree(worker.shared.epochs.current(), epoch);
  if (reason == AbortReason::kNone) reason = await_epoch(worker, epoch);
  base::sync_point("across.agreed");
  return reason == AbortReason::kNone ? remote.validate() : reason;
}

/// Steps 2 to 4 with the local part in an HTM region, which sees for itself that E is still the agreed one (I7). What other nodes
/// have must stay as it was seen until the region ends, so it is held; what is only read optimistically is not, and nothing is
/// returned then, or if the region was in vain: the transaction goes on with locks.
std::optional<CommitOutcome> commit_in_region_across(AccessSet& access, WorkerState& worker, RemotePart& remote,
                                                     const Right& right) {
  if (worker.region == nullptr || access.writes.empty()) return std::nullopt;
  HeldElsewhere held{.until = remote.held_until(), .part = &remote};
  if (held.until.end_us == 0) return std::nullopt;
  AbortReason reason = agree_and_validate_elsewhere(worker, remote, held.epoch);
  held.greatest_tid = remote.greatest_tid();
  if (reason == AbortReason::kNone) reason = remote.prepare(held.epoch);
  if (reason == AbortReason::kNone) reason = find_log_room(access, worker, remote);
  if (reason != AbortReason::kNone) return CommitOutcome{.reason = reason};
  const std::optional<CommitOutcome> outcome = commit_in_region(access, worker, right, held);
  if (outcome && outcome->reason == AbortReason::kNone) remote.write_back(outcome->tid);
  return outcome;
}

/// I8: from here on the transaction is committed, whatever becomes of this process; nothing of it is visible yet.
void log_decision(const std::vector<WriteEntry>& writes, WorkerState& worker, RemotePart& remote, TidWord tid) {
  if (worker.ring == nullptr) return;
  const std::size_t bytes = write_log_entry({writes, remote.writes()}, worker, tid);
  remote.decide(tid, worker.ring->end_after(bytes));
  base::sync_point("across.deciding");
  worker.ring->publish(bytes);
}

/// Steps 2 to 4, everything locked. On an abort the local locks are still held.
CommitOutcome commit_locked(AccessSet& access, WorkerState& worker, RemotePart& remote, const Right& right) {
  std::vector<WriteEntry>& writes = access.writes.entries();
  epoch::Epoch epoch = 0;
  AbortReason reason = agree_and_validate_elsewhere(worker, remote, epoch);
  if (reason == AbortReason::kNone) reason = validate(access);
  if (reason != AbortReason::kNone) return {.reason = reason};
  base::sync_point("across.validated");
  if (writes.empty() && remote.writes().empty()) return {.reason = right.refused(), .epoch = epoch};

  reason = remote.prepare(epoch);
  if (reason == AbortReason::kNone) reason = find_log_room(access, worker, remote);
  if (reason != AbortReason::kNone) return {.reason = reason};
  // Behind the last wait, in which another transaction of the worker may have taken a TID.
  const TidWord tid = choose_tid(access, writes, worker, epoch, remote.greatest_tid());
  if (tid == 0) return {.reason = no_tid_left(epoch)};
  reason = prepare(writes, worker, epoch);
  if (reason != AbortReason::kNone) return {.reason = reason};
  base::sync_point("across.prepared");
  reason = right.refused();
  if (reason != AbortReason::kNone) {
    unprepare(writes, worker);
    return {.reason = reason};
  }
  base::invariant("I1", tid > worker.last_tid && record::epoch_of(tid) == epoch);
  worker.last_tid = tid;
  const bool log_last = injected("log-after-write-back");
  if (!log_last) log_decision(writes, worker, remote, tid);
  base::sync_point("across.logged");
  install(writes, worker, tid);
  base::sync_point("across.installed");
  remote.write_back(tid);
  if (log_last) log_decision(writes, worker, remote, tid);
  base::sync_point("across.written_back");
  return {.tid = tid, .epoch = epoch};
}

/// Local records are locked last.
CommitOutcome commit_with_locks(AccessSet& access, WorkerState& worker, RemotePart& remote, const Right& right) {
  const AbortReason reason = lock_writes(access, worker);
  if (reason != AbortReason::kNone) return {.reason = reason};
  const CommitOutcome outcome = commit_locked(access, worker, remote, right);
  if (outcome.reason != AbortReason::kNone) unlock_writes(access);
  return outcome;
}

}  // namespace

CommitOutcome commit_across_nodes(AccessSet& access, WorkerState& worker, RemotePart& remote, const Right& right) {
  const bool writes = !access.writes.empty() || !remote.writes().empty();
  AbortReason reason = right.refused();  // now as well, before anybody else is troubled
  if (reason == AbortReason::kNone && writes) reason = find_log_room(access, worker, remote);
  // What would fail here is not locked elsewhere before.
  if (reason == AbortReason::kNone && lease_in_way_us(access, worker.shared) != 0)
    reason = AbortReason::kRemotelyLocked;
  if (reason == AbortReason::kNone) reason = remote.lock();
  if (reason != AbortReason::kNone) return {.reason = reason};
  base::sync_point("across.locked");
  const std::optional<CommitOutcome> ended = commit_in_region_across(access, worker, remote, right);
  const CommitOutcome outcome = ended ? *ended : commit_with_locks(access, worker, remote, right);
  if (outcome.reason != AbortReason::kNone) remote.release();
  return outcome;
}

}  // namespace granary::cc::silo
