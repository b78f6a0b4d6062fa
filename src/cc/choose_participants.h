#pragma once
// Commits a transaction in the way that suits it: chooses the participants that take the steps of commit.h, by what the
// transaction has written and by its isolation level. protocols.cc instantiates the templates for each protocol.

#include <optional>

#include "src/cc/commit.h"
#include "src/cc/drtm/commit_in_open_region.h"
#include "src/cc/drtm/drtm.h"
#include "src/cc/elsewhere/elsewhere.h"
#include "src/cc/here/here.h"
#include "src/cc/here/weaker.h"
#include "src/cc/protocol.h"
#include "src/cc/region/region.h"

namespace granary::cc {

/// Commits a transaction that writes. It tries an HTM region first, if the worker has regions and everything that was
/// read at other nodes is x-locked or leased: nothing else makes sure that it stays as it was seen until the region
/// ends. If the region aborts for good, the commit goes on with locks. Not inlined, to keep the code of read-only
/// commits short.
template <Protocol P, RemoteParticipant Remote, typename Right>
[[gnu::noinline]] CommitOutcome commit_writes(AccessSet& access, WorkerState& worker, Remote& there,
                                              const Right& right) {
  const LoggedWrites writes{access.writes.entries(), there.writes()};
  if constexpr (CommitsInRegion<P> && !RunsInRegion<P>) {
    if (worker.region != nullptr && !access.writes.empty()) [[unlikely]] {
      if (const base::LeaseEnd held = there.held_until(); held.end_us != 0) {
        InRegion<P> region(access, worker, held);
        const CommitOutcome outcome = take_steps(region, there, writes, worker, right);
        // A step at other nodes may have failed after the region had asked for locks, for a reason that stays.
        if (!region.needs_locks() || outcome.reason != AbortReason::kWriteLocked) return outcome;
        worker.region->count_fallback();
      }
    }
  }
  Here<P> here(access, worker);
  return take_steps(here, there, writes, worker, right);
}

/// Commits a serializable transaction, or aborts it. The caller's epoch slot is entered and stays so. After an abort no
/// value has changed and the commit holds no lock; placeholders stay in the indexes until abandon() registers them.
/// Locks that the transaction took before its commit (declared keys, two-phase locking) are given back when it ends at
/// the latest. After a success the writes at other nodes have been sent, or are in the log for a node that does not
/// answer.
template <Protocol P, RemoteParticipant Remote, typename Right>
CommitOutcome commit_serializable(AccessSet& access, WorkerState& worker, Remote& there, const Right& right) {
  if constexpr (Remote::kNodes) {
    // It is asked here, too, so that a commit that must fail does nothing at other nodes.
    if (const AbortReason reason = right.refused(); failed(reason)) return {.reason = reason};
    if (!there.list_writes()) [[unlikely]]
      return {.reason = AbortReason::kOutOfMemory};
  }
  const bool writes = !access.writes.empty() || !there.writes_nothing();
  if (writes) {
    const AbortReason reason = reserve_log({access.writes.entries(), there.writes()}, worker);
    if (failed(reason)) [[unlikely]]
      return {.reason = reason};
  }
  if (const AbortReason reason = there.lock(); failed(reason)) [[unlikely]]
    return {.reason = reason};
  std::optional<CommitOutcome> outcome;
  if constexpr (RunsInRegion<P>) {
    // Another transaction of this thread may run in a region, and may have read what this one writes.
    if (writes && worker.in_open_region != &access) htm::OpenRegion::abort_open_on_this_thread();
    outcome = writes ? drtm::commit_in_open_region<P, true>(access, worker, there, right)
                     : drtm::commit_in_open_region<P, false>(access, worker, there, right);
  }
  if (!outcome) {
    ReadHere<P> reads(access, worker);
    outcome = writes ? commit_writes<P>(access, worker, there, right)
                     : take_steps(reads, there, {access.writes.entries()}, worker, right);
  }
  if (failed(outcome->reason)) there.release();
  return *outcome;
}

/// Commits or aborts a transaction below serializable with the participant `Local` (here/weaker.h). It tries no HTM
/// region: a region takes effect at one moment, and these levels do not ask for one.
template <Protocol P, typename Local>
CommitOutcome commit_with(AccessSet& access, WorkerState& worker) {
  const LoggedWrites writes{access.writes.entries(), {}};
  if (const AbortReason reason = reserve_log(writes, worker); failed(reason)) return {.reason = reason};
  Local here(access, worker);
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
    if (!only_reads) return commit_with<P, RepeatableReadHere<P>>(access, worker);
    const epoch::Epoch epoch = worker.shared.epochs.current();
    return {.reason = check_read_again(access), .epoch = epoch};
  }
  if (only_reads || LocksRecords<P>) {
    Nowhere nowhere;
    return commit_serializable<P>(access, worker, nowhere, EveryRight());
  }
  if constexpr (StampsReads<P>) return commit_with<P, TimedSnapshotHere<P>>(access, worker);
  if constexpr (!StampsReads<P>) return commit_with<P, SnapshotHere<P>>(access, worker);
}

}  // namespace granary::cc
