#pragma once
// Says the order of a commit's steps, once for all protocols (protocol.h) and participants (participant.h). It is
// Silo's commit protocol (4.4, Figure 2) with the steps of other nodes around its phases; DrTM+R and FaRM have the same
// shape. protocols.cc instantiates it for each protocol.
//
// Records of other nodes are locked first, and those of this node last, so these are locked for the shortest time. No
// waits form a cycle across nodes: a commit that meets another holder's x-lock gives up at once, and records of this
// node are claimed in the order of their addresses, each with a bounded wait.

#include <optional>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/commit_right.h"
#include "src/cc/decision.h"
#include "src/cc/drtm/commit_in_open_region.h"
#include "src/cc/drtm/drtm.h"
#include "src/cc/elsewhere/elsewhere.h"
#include "src/cc/here/here.h"
#include "src/cc/here/weaker.h"
#include "src/cc/log_entry.h"
#include "src/cc/participant.h"
#include "src/cc/region/region.h"

namespace granary::cc {

/// Takes all steps that follow the locks at other nodes. Precondition: the log has room for the entry, and the records
/// to write at other nodes are x-locked. After a failure nothing is claimed at this node; commit() releases the other
/// nodes. `TheRight` is CommitRight or EveryRight.
///
/// No exception leaves these steps, nor those of a RemotePart that lock and give back. It could be one of memory that
/// the system does not have, where a list of garbage or of locks grows. Records would stay claimed, or, behind the
/// decision, be freed without the version that the log has (I8, I10). The process ends instead, and its recovery does
/// the rest.
template <LocalParticipant Here, RemoteParticipant There, typename TheRight>
CommitOutcome take_steps(Here& here, There& there, const LoggedWrites& writes, WorkerState& worker,
                         const TheRight& right) noexcept {
  constexpr CommitPoints kPoints = Here::points(There::kNodes);
  const auto end = [&here](AbortReason reason) { return here.release(), CommitOutcome{.reason = reason}; };
  if (const AbortReason no = here.lock(); failed(no)) [[unlikely]]
    return {.reason = no};
  reach(kPoints.locked);
  // The serialization point. E is read after the last lock, whose CAS is a full fence on x86-64, and before the first
  // validation load, as the load of E is an acquire. So epochs agree with the serial order in both directions (Silo
  // 4.4). E of every other node is READ after the last lock there, for the same reason.
  epoch::Epoch epoch = worker.shared.epochs.current();
  const auto stamp = [&] { return here.stamp(epoch, Here::kStampsFirst ? there.least_time() : there.greatest_tid()); };
  // A protocol that stamps first passes a stamp to agree(), which may then check the reads at other nodes in the round
  // that READs their E. If the final stamp is greater, validate() checks them again.
  TidWord early = 0;
  if constexpr (Here::kStampsFirst && There::kNodes) early = failed(stamp()) ? 0 : here.stamped();
  if (const AbortReason no = there.agree(epoch, early); failed(no)) [[unlikely]]
    return end(no);
  if (const AbortReason no = Here::kStampsFirst ? stamp() : AbortReason::kNone; failed(no)) [[unlikely]]
    return end(no);
  const bool stamped = Here::kStampsFirst || (base::injected("stamp-before-last-wait") && !failed(stamp()));
  if (const AbortReason no = there.validate(Here::kStampsFirst ? here.stamped() : 0); failed(no)) [[unlikely]]
    return end(no);
  if (const AbortReason no = here.validate(epoch); failed(no)) [[unlikely]]
    return end(no);
  reach(kPoints.validated);
  // A transaction that only reads, and has a stamp, takes effect at the time of its stamp. That may be in an earlier
  // epoch, which is durable sooner.
  if constexpr (!Here::kWrites && Here::kStampsFirst) epoch = here.epoch_of_reads();
  if constexpr (!Here::kWrites) return {.reason = right.refused(), .epoch = epoch};

  if (const AbortReason no = there.prepare(epoch); failed(no)) [[unlikely]]
    return end(no);
  // The log had room before the first lock, but another transaction of the worker may have used it while this one
  // waited for a lock or for another node. Nothing waits from here until the entry is written, so the room stays (I30).
  if (const AbortReason no = keep_log_room(writes, worker); failed(no)) [[unlikely]]
    return end(no);
  // Silo's stamp is chosen after the last wait, because another transaction of the worker may take a TID during a wait
  // (I30).
  if (const AbortReason no = stamped ? AbortReason::kNone : stamp(); failed(no)) [[unlikely]]
    return end(no);
  if (const AbortReason no = here.prepare(epoch); failed(no)) [[unlikely]]
    return end(no);
  reach(kPoints.prepared);
  if (const AbortReason no = right.refused(); failed(no)) [[unlikely]]
    return end(no);
  base::invariant("I1", record::epoch_of(here.tid()) == epoch && (Here::kStampsFirst || here.tid() > worker.last_tid));
  Decision decision(writes, worker, here.tid(), there.part());
  if (const AbortReason no = here.install(decision); failed(no)) [[unlikely]]
    return end(no);
  base::debug_invariant("I8", [&] { return decision.logged(); });
  there.write_back(here.tid());
  reach(kPoints.written_back);
  return {.epoch = epoch, .tid = here.tid()};
}

/// Commits a transaction that writes. It tries an HTM region first, if the worker has regions and everything that was
/// read at other nodes is x-locked or leased: nothing else makes sure that it stays as it was seen until the region
/// ends. If the region aborts for good, the commit goes on with locks. Not inlined, to keep the code of read-only
/// commits short.
template <Protocol P, RemoteParticipant There, typename TheRight>
[[gnu::noinline]] CommitOutcome commit_writes(AccessSet& access, WorkerState& worker, There& there,
                                              const TheRight& right) {
  const LoggedWrites writes{access.writes.entries(), there.writes()};
  if constexpr (CommitsInRegion<P> && !RunsInRegion<P>) {
    if (worker.region != nullptr && !access.writes.empty()) [[unlikely]] {
      if (const base::LeaseEnd held = there.held_until(); held.end_us != 0) {
        InRegion<P> region(access, worker, held);
        const CommitOutcome outcome = take_steps(region, there, writes, worker, right);
        if (!region.needs_locks()) return outcome;
      }
    }
  }
  Here<P> here(access, worker);
  return take_steps(here, there, writes, worker, right);
}

/// Commits a transaction that runs in the worker's open region (drtm/), at the region's end. Returns nothing if there
/// is no region, or none any more; then the caller commits with locks.
template <RunsInRegion P, bool Writes, RemoteParticipant There, typename TheRight>
[[gnu::noinline]] std::optional<CommitOutcome> commit_in_open_region(AccessSet& access, WorkerState& worker,
                                                                     There& there, const TheRight& right) {
  if (P::enter(access, worker)) {
    const base::LeaseEnd held = there.held_until();
    if (held.end_us == 0) drtm::leave_region(worker);
    const LoggedWrites writes{access.writes.entries(), there.writes()};
    drtm::InOpenRegion<P, Writes> here(access, worker, held);
    const CommitOutcome outcome = take_steps(here, there, writes, worker, right);
    // The outcome counts if the region has committed, or if it is still open because something else failed. Otherwise
    // the region has aborted, and enter() has decided how the transaction goes on.
    if (worker.in_open_region != &access || P::enter(access, worker)) return outcome;
  }
  if (access.region_run.way == drtm::RegionRun::Way::kAgain) return CommitOutcome{.reason = access.region_run.reason};
  return std::nullopt;
}

/// Commits a serializable transaction, or aborts it. The caller's epoch slot is entered and stays so. After an abort no
/// value has changed and the commit holds no lock; placeholders stay in the indexes until abandon() registers them.
/// Locks that the transaction took before its commit (declared keys, two-phase locking) are given back when it ends at
/// the latest. After a success the writes at other nodes have been sent, or are in the log for a node that does not
/// answer.
template <Protocol P, RemoteParticipant There, typename TheRight>
CommitOutcome commit(AccessSet& access, WorkerState& worker, There& there, const TheRight& right) {
  const bool writes = !access.writes.empty() || !there.writes_nothing();
  if constexpr (There::kNodes) {  // asked here, too, so that a commit that must fail does nothing at other nodes
    if (const AbortReason no = right.refused(); failed(no)) return {.reason = no};
  }
  if (writes) {
    const AbortReason no = reserve_log({access.writes.entries(), there.writes()}, worker);
    if (failed(no)) [[unlikely]]
      return {.reason = no};
  }
  if (const AbortReason no = there.lock(); failed(no)) [[unlikely]]
    return {.reason = no};
  std::optional<CommitOutcome> outcome;
  if constexpr (RunsInRegion<P>) {
    // Another transaction of this thread may run in a region, and may have read what this one writes.
    if (writes && worker.in_open_region != &access) htm::OpenRegion::abort_open_on_this_thread();
    outcome = writes ? commit_in_open_region<P, true>(access, worker, there, right)
                     : commit_in_open_region<P, false>(access, worker, there, right);
  }
  if (!outcome) {
    ReadHere<P> reads(access, worker);
    outcome = writes ? commit_writes<P>(access, worker, there, right)
                     : take_steps(reads, there, {access.writes.entries()}, worker, right);
  }
  if (failed(outcome->reason)) there.release();
  return *outcome;
}

/// Commits or aborts a transaction below serializable with the participant `Here` (here/weaker.h). It tries no HTM
/// region: a region takes effect at one moment, and these levels do not ask for one.
template <Protocol P, typename Here>
CommitOutcome commit_weaker(AccessSet& access, WorkerState& worker) {
  const LoggedWrites writes{access.writes.entries(), {}};
  if (const AbortReason no = reserve_log(writes, worker); failed(no)) return {.reason = no};
  Here here(access, worker);
  Nowhere nowhere;
  return take_steps(here, nowhere, writes, worker, EveryRight());
}

/// Chooses the participant for the transaction's isolation level, and commits or aborts. A transaction under snapshot
/// isolation that only reads is committed as a serializable one, which asks for the same. Under repeatable read it
/// claims nothing.
template <Protocol P>
[[gnu::noinline]] CommitOutcome commit_weaker(AccessSet& access, WorkerState& worker) {
  const bool only_reads = access.writes.empty();
  if (access.isolation == Isolation::kRepeatableRead) {
    if (!only_reads) return commit_weaker<P, RepeatableReadHere<P>>(access, worker);
    const epoch::Epoch epoch = worker.shared.epochs.current();
    return {.reason = check_read_again(access), .epoch = epoch};
  }
  if (only_reads || LocksRecords<P>) {
    Nowhere nowhere;
    return commit<P>(access, worker, nowhere, EveryRight());
  }
  if constexpr (StampsReads<P>) return commit_weaker<P, TimedSnapshotHere<P>>(access, worker);
  if constexpr (!StampsReads<P>) return commit_weaker<P, SnapshotHere<P>>(access, worker);
}

}  // namespace granary::cc
