#pragma once
// Says the order of a commit's steps, once for all protocols (protocol.h) and participants (participant.h):
// take_steps() is the commit. It is Silo's commit protocol (4.4, Figure 2) with the steps of other nodes around its
// phases; DrTM+R and FaRM have the same shape. choose_participants.h chooses the participants.
//
// Records of other nodes are locked first, and those of this node last, so these are locked for the shortest time. No
// waits form a cycle across nodes: a commit that meets another holder's x-lock gives up at once, and records of this
// node are claimed in the order of their addresses, each with a bounded wait.

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/commit_right.h"
#include "src/cc/decision.h"
#include "src/cc/log_entry.h"
#include "src/cc/participant.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

// The helpers of take_steps() are always inlined, so that they cost what the steps would cost in its place.

/// Chooses the transaction's stamp in the epoch.
template <LocalParticipant Local, RemoteParticipant Remote>
[[gnu::always_inline]] inline AbortReason choose_stamp(Local& here, Remote& there, epoch::Epoch epoch) {
  return here.stamp(epoch, Local::kStampsFirst ? there.least_time() : there.greatest_tid());
}

/// Agrees with the other nodes on the epoch, and validates what was read at all nodes. A protocol that stamps first has
/// its stamp then.
template <LocalParticipant Local, RemoteParticipant Remote>
[[gnu::always_inline]] inline AbortReason agree_and_validate(Local& here, Remote& there, epoch::Epoch& epoch) {
  // A protocol that stamps first passes a stamp to agree(), which may then check the reads at other nodes in the round
  // that READs their E. If the final stamp is greater, validate() checks them again.
  TidWord early_stamp = 0;
  if constexpr (Local::kStampsFirst && Remote::kNodes)
    early_stamp = failed(choose_stamp(here, there, epoch)) ? 0 : here.read_time();
  if (const AbortReason reason = there.agree(epoch, early_stamp); failed(reason)) [[unlikely]]
    return reason;
  if constexpr (Local::kStampsFirst) {
    if (const AbortReason reason = choose_stamp(here, there, epoch); failed(reason)) [[unlikely]]
      return reason;
  }
  if constexpr (!Local::kStampsFirst) {
    if (base::injected("stamp-before-last-wait")) (void)choose_stamp(here, there, epoch);
  }
  if (const AbortReason reason = there.validate(Local::kStampsFirst ? here.read_time() : 0); failed(reason))
      [[unlikely]]
    return reason;
  return here.validate(epoch);
}

/// Does all that may still fail or wait before the decision.
template <LocalParticipant Local, RemoteParticipant Remote, typename Right>
[[gnu::always_inline]] inline AbortReason prepare_to_decide(Local& here, Remote& there, const LoggedWrites& writes,
                                                            WorkerState& worker, const Right& right,
                                                            epoch::Epoch epoch) {
  if (const AbortReason reason = there.prepare(epoch); failed(reason)) [[unlikely]]
    return reason;
  // The log had room before the first lock, but another transaction of the worker may have used it while this one
  // waited for a lock or for another node. Nothing waits from here until the entry is written, so the room stays (I30).
  if (const AbortReason reason = keep_log_room(writes, worker); failed(reason)) [[unlikely]]
    return reason;
  // Silo's TID is chosen after the last wait, because another transaction of the worker may take a TID during a wait
  // (I30).
  if constexpr (!Local::kStampsFirst) {
    const bool early = base::injected("stamp-before-last-wait") && here.tid() != 0;
    if (const AbortReason reason = early ? AbortReason::kNone : choose_stamp(here, there, epoch); failed(reason))
        [[unlikely]]
      return reason;
  }
  if (const AbortReason reason = here.prepare(epoch); failed(reason)) [[unlikely]]
    return reason;
  stop_at(Local::points(Remote::kNodes).prepared);
  return right.refused();
}

/// Takes all steps that follow the locks at other nodes. Precondition: the log has room for the entry, and the records
/// to write at other nodes are x-locked. After a failure nothing is claimed at this node; the caller releases the other
/// nodes. `Right` is CommitRight or EveryRight.
///
/// No exception leaves these steps, nor those of a RemoteCommit that lock and give back. It could be one of memory that
/// the system does not have, where a list of garbage or of locks grows. Records would stay claimed, or, after the
/// decision, be freed without the version that the log has (I8, I10). The process ends instead, and its recovery does
/// the rest.
template <LocalParticipant Local, RemoteParticipant Remote, typename Right>
CommitOutcome take_steps(Local& here, Remote& there, const LoggedWrites& writes, WorkerState& worker,
                         const Right& right) noexcept {
  constexpr CommitPoints kPoints = Local::points(Remote::kNodes);
  const auto abort_with = [&here](AbortReason reason) {
    here.release();
    return CommitOutcome{.reason = reason};
  };
  if (const AbortReason reason = here.lock(); failed(reason)) [[unlikely]]
    return {.reason = reason};
  stop_at(kPoints.locked);
  // The serialization point. E is read after the last lock, whose CAS is a full fence on x86-64, and before the first
  // validation load, as the load of E is an acquire. So epochs agree with the serial order in both directions (Silo
  // 4.4). E of every other node is READ after the last lock there, for the same reason.
  epoch::Epoch epoch = worker.shared.epochs.current();
  if (const AbortReason reason = agree_and_validate(here, there, epoch); failed(reason)) [[unlikely]]
    return abort_with(reason);
  stop_at(kPoints.validated);
  // A transaction that only reads, and has a stamp, takes effect at the time of its stamp. That may be in an earlier
  // epoch, which is durable sooner.
  if constexpr (!Local::kWrites && Local::kStampsFirst) {
    epoch = here.epoch_of_reads();
    here.note_time();
  }
  if constexpr (!Local::kWrites) return {.reason = right.refused(), .epoch = epoch};

  if (const AbortReason reason = prepare_to_decide(here, there, writes, worker, right, epoch); failed(reason))
      [[unlikely]]
    return abort_with(reason);
  base::invariant("I1", record::epoch_of(here.tid()) == epoch && (Local::kStampsFirst || here.tid() > worker.last_tid));
  Decision decision(writes, worker, here.tid(), there.remote_commit());
  if (const AbortReason reason = here.install(decision); failed(reason)) [[unlikely]]
    return abort_with(reason);
  base::debug_invariant("I8", [&] { return decision.logged(); });
  there.write_back(here.tid());
  stop_at(kPoints.written_back);
  return {.epoch = epoch, .tid = here.tid()};
}

}  // namespace granary::cc
