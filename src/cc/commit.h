#pragma once
// The order of a commit, for all protocols (protocol.h) and participants (participant.h): Silo's phases (4.4, Figure 2) with those of other
// nodes around them (DrTM+R and FaRM have the same shape). Records here are locked last and for the shortest time; those elsewhere never
// wait for each other's holders.

#include <optional>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/decision.h"
#include "src/cc/drtm/commit_in_section.h"
#include "src/cc/drtm/drtm.h"
#include "src/cc/elsewhere/elsewhere.h"
#include "src/cc/here/here.h"
#include "src/cc/here/weaker.h"
#include "src/cc/log_entry.h"
#include "src/cc/participant.h"
#include "src/cc/region/region.h"

namespace granary::cc {

/// There is room in the log, and what will be written elsewhere is locked. `TheRight`: Right or EveryRight.
template <LocalParticipant Here, RemoteParticipant There, typename TheRight>
CommitOutcome take_steps(Here& here, There& there, const LoggedWrites& writes, WorkerState& worker,
                         const TheRight& right) {
  constexpr CommitPoints kPoints = Here::points(There::kNodes);
  const auto end = [&here](AbortReason reason) { return here.release(), CommitOutcome{.reason = reason}; };
  if (const AbortReason no = here.lock(); failed(no)) [[unlikely]]
    return {.reason = no};
  reach(kPoints.locked);
  // The serialization point. E is read after the last lock (its CAS is a full fence on x86-64) and before the first validation load
  // (acquire), so epochs agree with the serial order in both directions (Silo 4.4); elsewhere likewise, behind the last lock of each node.
  epoch::Epoch epoch = worker.shared.epochs.current();
  const auto stamp = [&] { return here.stamp(epoch, Here::kStampsFirst ? there.least_time() : there.greatest_tid()); };
  // The reads at other nodes may be checked while the epoch is being agreed on. If the stamp grows then, they are checked once more.
  TidWord early = 0;
  if constexpr (Here::kStampsFirst && There::kNodes) early = failed(stamp()) ? 0 : here.stamped();
  if (const AbortReason no = there.agree(epoch, early); failed(no)) [[unlikely]]
    return end(no);
  if (const AbortReason no = Here::kStampsFirst ? stamp() : AbortReason::kNone; failed(no)) [[unlikely]]
    return end(no);
  if (const AbortReason no = there.validate(Here::kStampsFirst ? here.stamped() : 0); failed(no)) [[unlikely]]
    return end(no);
  if (const AbortReason no = here.validate(epoch); failed(no)) [[unlikely]]
    return end(no);
  reach(kPoints.validated);
  // A transaction that only reads, and has a stamp, is serial where the stamp says, which may be in an epoch that is over.
  if constexpr (!Here::kWrites && Here::kStampsFirst)
    epoch = std::max(record::epoch_of(here.stamped()), epoch::Epoch{1});
  if constexpr (!Here::kWrites) return {.reason = right.refused(), .epoch = epoch};

  if (const AbortReason no = there.prepare(epoch); failed(no)) [[unlikely]]
    return end(no);
  // Behind the last wait, in which another transaction of the worker may have taken a TID.
  const bool stamped = Here::kStampsFirst || base::injected("stamp-before-last-wait");
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
  return {.tid = here.tid(), .epoch = epoch};
}

/// In an HTM region first, where there are any. What other nodes have must stay as it was seen until the region ends, so it is held; what is
/// only read optimistically is not. Not inlined, so that the way of a transaction that only reads stays short.
template <Protocol P, RemoteParticipant There, typename TheRight>
[[gnu::noinline]] CommitOutcome commit_writes(AccessSet& access, WorkerState& worker, There& there,
                                              const TheRight& right) {
  const LoggedWrites writes{access.writes.entries(), there.writes()};
  if constexpr (CommitsInRegion<P> && !RunsInRegion<P>) {
    if (worker.region != nullptr && !access.writes.empty()) [[unlikely]] {
      if (const base::LeaseEnd held = there.held_until(); held.end_us != 0) {
        Region<P> region(access, worker, held);
        const CommitOutcome outcome = take_steps(region, there, writes, worker, right);
        if (!region.in_vain()) return outcome;
      }
    }
  }
  Here<P> here(access, worker);
  return take_steps(here, there, writes, worker, right);
}

/// Commits a transaction that runs in the worker's open region at the region's end. Returns nothing if there is no region, so that it is to be
/// done with locks.
template <RunsInRegion P, bool Writes, RemoteParticipant There, typename TheRight>
[[gnu::noinline]] std::optional<CommitOutcome> commit_in_section(AccessSet& access, WorkerState& worker, There& there,
                                                                 const TheRight& right) {
  if (P::enter(access, worker)) {
    const base::LeaseEnd held = there.held_until();
    if (held.end_us == 0) drtm::leave_region(worker);
    const LoggedWrites writes{access.writes.entries(), there.writes()};
    drtm::InSection<P, Writes> here(access, worker, held);
    const CommitOutcome outcome = take_steps(here, there, writes, worker, right);
    // The region has ended well, or it is still open, as the failure was not its own. Otherwise it was aborted.
    if (worker.in_section != &access || P::enter(access, worker)) return outcome;
  }
  if (access.running.way == Running::Way::kAgain) return CommitOutcome{.reason = access.running.why};
  return std::nullopt;
}

/// Commits or aborts. The caller's epoch slot is entered and stays so. On an abort nothing is locked or changed at any node; placeholders
/// stay in the indexes, for abandon() to register. After success everything is written back, or, where a node does not answer, in the log.
template <Protocol P, RemoteParticipant There, typename TheRight>
CommitOutcome commit(AccessSet& access, WorkerState& worker, There& there, const TheRight& right) {
  const bool writes = !access.writes.empty() || !there.writes_nothing();
  if constexpr (There::kNodes) {  // now as well, before anybody else is troubled
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
    outcome = writes ? commit_in_section<P, true>(access, worker, there, right)
                     : commit_in_section<P, false>(access, worker, there, right);
  }
  if (!outcome) {
    ReadHere<P> reads(access, worker);
    outcome = writes ? commit_writes<P>(access, worker, there, right)
                     : take_steps(reads, there, {access.writes.entries()}, worker, right);
  }
  if (failed(outcome->reason)) there.release();
  return *outcome;
}

/// Commits or aborts a transaction below serializable. Its reads may be from different moments, or its writes may be behind them, so no
/// HTM region, which is one moment, would be of any use.
template <Protocol P, typename Here>
CommitOutcome commit_weaker(AccessSet& access, WorkerState& worker) {
  const LoggedWrites writes{access.writes.entries(), {}};
  if (const AbortReason no = reserve_log(writes, worker); failed(no)) return {.reason = no};
  Here here(access, worker);
  Nowhere nowhere;
  return take_steps(here, nowhere, writes, worker, EveryRight());
}

/// Commits or aborts it by its level. If it only reads, a snapshot is what a serializable transaction is, and repeatable read claims nothing.
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
