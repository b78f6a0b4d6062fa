#include "src/cc/silo/commit.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/garbage.h"
#include "src/cc/held_records.h"
#include "src/cc/silo/choose_tid.h"
#include "src/cc/silo/commit_in_region.h"
#include "src/cc/silo/install.h"
#include "src/cc/silo/log_entry.h"
#include "src/cc/silo/phases.h"
#include "src/record/shared_lock.h"

namespace granary::cc::silo {
namespace {

using base::injected;
using record::OwnerLock;

void unlock(const std::vector<LockEntry>& locks, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) locks[i].record->unlock_unchanged();
}

/// The same for a record that another node may hold. A lease is not waited for here, where others may wait for what is locked.
AbortReason lock_shared(record::SharedRecord& record, const WorkerState& worker) {
  AbortReason reason = AbortReason::kWriteLocked;
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    const TidWord word = record.head.tid();
    if (!record::is_latest(word)) return AbortReason::kRecordReplaced;
    if (!record::is_locked(word)) {
      const OwnerLock locked = record::lock_as_owner(record, word, worker.shared.time);
      if (locked == OwnerLock::kTaken) return AbortReason::kNone;
      reason = locked == OwnerLock::kHeldRemotely ? AbortReason::kRemotelyLocked : AbortReason::kWriteLocked;
      if (record::is_leased(record.state(), worker.shared.time)) return AbortReason::kRemotelyLocked;
    }
    worker.waiter->pause(turn);
  }
  return why_busy(&record.head, worker.shared, reason);
}

/// Takes one record's lock bit, waiting a bounded while.
AbortReason lock_one(Record& record, const WorkerState& worker) {
  if (record::is_shared(&record)) [[unlikely]]
    return lock_shared(record::shared_of(record), worker);
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    const TidWord word = record.tid();
    if (!record::is_latest(word)) return AbortReason::kRecordReplaced;
    if (!record::is_locked(word) && record.try_lock(word)) return AbortReason::kNone;
    worker.waiter->pause(turn);
  }
  return AbortReason::kWriteLocked;
}

}  // namespace

AbortReason lock_writes(AccessSet& access, const WorkerState& worker) {
  std::vector<LockEntry>& locks = access.locks;
  for (WriteEntry& write : access.writes.entries()) locks.push_back({write.record, &write});
  if (locks.size() > 1)
    std::sort(locks.begin(), locks.end(), [](const LockEntry& a, const LockEntry& b) { return a.record < b.record; });
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const AbortReason reason = lock_one(*locks[i].record, worker);
    if (reason != AbortReason::kNone) [[unlikely]] {
      unlock(locks, i);
      return reason;
    }
    base::sync_point("commit.locked_one");
  }
  return AbortReason::kNone;
}

void unlock_writes(AccessSet& access) { unlock(access.locks, access.locks.size()); }

namespace {

bool holds(const std::vector<LockEntry>& locks, const Record* record) {
  const auto at = std::lower_bound(locks.begin(), locks.end(), record,
                                   [](const LockEntry& entry, const Record* wanted) { return entry.record < wanted; });
  return at != locks.end() && at->record == record;
}

inline AbortReason validate_local(const ReadEntry& read, const std::vector<LockEntry>& locks) {
  const TidWord word = read.record->tid();
  if (word == read.tid) [[likely]]
    return AbortReason::kNone;
  if ((word & ~record::kLocked) != read.tid) return AbortReason::kReadChanged;
  return holds(locks, read.record) || injected("skip-own-lock-check") ? AbortReason::kNone : AbortReason::kReadLocked;
}

/// A shared record also must not be x-locked. Unless it is locked by us: then an x-lock came later, and its holder gives way.
AbortReason validate_shared(const ReadEntry& read, const std::vector<LockEntry>& locks) {
  const record::SharedHeader header = record::load_header(record::shared_of(*read.record));
  if ((header.tid & ~record::kLocked) != read.tid) return AbortReason::kReadChanged;
  if (!record::is_locked(header.tid) && !record::is_x_locked(header.state)) return AbortReason::kNone;
  return holds(locks, read.record) || injected("skip-own-lock-check") ? AbortReason::kNone : AbortReason::kReadLocked;
}

inline AbortReason validate_nodes(const AccessSet& access) {
  if (injected("skip-node-validation")) return AbortReason::kNone;
  for (const NodeEntry& node : access.nodes) {
    if (!Index::unchanged(node.leaf, node.version)) return AbortReason::kNodeChanged;
  }
  return AbortReason::kNone;
}

/// With reads of both kinds. By itself, so that the way of transactions that read local records only stays short.
[[gnu::noinline]] AbortReason validate_both_kinds(const AccessSet& access) {
  for (const ReadEntry& read : access.reads) {
    const AbortReason reason =
        record::is_shared(read.record) ? validate_shared(read, access.locks) : validate_local(read, access.locks);
    if (reason != AbortReason::kNone) return reason;
  }
  return validate_nodes(access);
}

}  // namespace

/// Phase 2. A record passes if its TID is the one that was read and nobody else holds its lock; a leaf or bucket, if its version is.
AbortReason validate(const AccessSet& access) {
  if (!injected("skip-read-validation")) {
    for (const ReadEntry& read : access.reads) {
      if (record::is_shared(read.record)) [[unlikely]]
        return validate_both_kinds(access);
      const AbortReason reason = validate_local(read, access.locks);
      if (reason != AbortReason::kNone) [[unlikely]]
        return reason;
    }
  }
  return validate_nodes(access);
}

namespace {

/// All phases. Not inlined, so that the way of a transaction that only reads stays short.
template <typename TheRight>
[[gnu::noinline]] CommitOutcome commit_writes(AccessSet& access, WorkerState& worker, const TheRight& right) {
  std::vector<WriteEntry>& writes = access.writes.entries();
  if (injected("install-before-locks")) install_unlocked(writes);
  if (worker.ring != nullptr) {
    const AbortReason refused = reserve_log({writes}, worker);
    if (refused != AbortReason::kNone) [[unlikely]]
      return {.reason = refused};
  }

  if (worker.region != nullptr) [[unlikely]] {
    const std::optional<CommitOutcome> ended = commit_in_region(access, worker, right);
    if (ended) return *ended;
  }

  const AbortReason locked = lock_writes(access, worker);
  if (locked != AbortReason::kNone) [[unlikely]]
    return {.reason = locked};
  base::sync_point("commit.locked");

  // The serialization point. E is read after the last lock (its CAS is a full fence on x86-64) and before the first
  // validation load (acquire), so epochs agree with the serial order in both directions (Silo 4.4).
  const epoch::Epoch epoch = worker.shared.epochs.current();
  const AbortReason invalid = validate(access);
  if (invalid != AbortReason::kNone) [[unlikely]] {
    unlock_writes(access);
    return {.reason = invalid};
  }
  base::sync_point("commit.validated");

  const TidWord tid = choose_tid(access, writes, worker, epoch);
  const AbortReason unprepared = tid == 0 ? no_tid_left(epoch) : prepare(writes, worker, epoch);
  if (unprepared != AbortReason::kNone) [[unlikely]] {
    unlock_writes(access);
    return {.reason = unprepared};
  }
  base::sync_point("commit.prepared");
  if (const AbortReason refused = right.refused(); refused != AbortReason::kNone) [[unlikely]] {
    unprepare(writes, worker);
    unlock_writes(access);
    return {.reason = refused};
  }
  base::invariant("I1", tid > worker.last_tid && record::epoch_of(tid) == epoch);
  worker.last_tid = tid;
  // In the ring before it is visible (I8): whoever sees a write of this transaction finds it logged, if it is of the same
  // epoch in the same or an earlier turn of the loggers, and after a crash of the process as well.
  if (worker.ring != nullptr) append_log({writes}, worker, tid);
  base::sync_point("commit.logged");
  install(writes, worker, tid);
  base::sync_point("commit.installed");
  return {.tid = tid, .epoch = epoch};
}

/// Phase 2 alone, at a serialization point without locks: E is read before the first validation load (acquire).
template <typename TheRight>
CommitOutcome commit_reads(const AccessSet& access, const WorkerState& worker, const TheRight& right) {
  base::sync_point("commit.locked");
  const epoch::Epoch epoch = worker.shared.epochs.current();
  const AbortReason invalid = validate(access);
  if (invalid != AbortReason::kNone) [[unlikely]]
    return {.reason = invalid};
  base::sync_point("commit.validated");
  if (const AbortReason refused = right.refused(); refused != AbortReason::kNone) [[unlikely]]
    return {.reason = refused};
  return {.epoch = epoch};
}

/// `TheRight`: Right or EveryRight.
template <typename TheRight>
inline CommitOutcome commit_by(AccessSet& access, WorkerState& worker, const TheRight& right) {
  return access.writes.empty() ? commit_reads(access, worker, right) : commit_writes(access, worker, right);
}

}  // namespace

CommitOutcome commit(AccessSet& access, WorkerState& worker) { return commit_by(access, worker, EveryRight()); }

CommitOutcome commit_fenced(AccessSet& access, WorkerState& worker, const Right& right) {
  return commit_by(access, worker, right);
}

void abandon(AccessSet& access, WorkerState& worker) {
  for (const WriteEntry& write : access.writes.entries()) {
    if (!write.placeholder) continue;
    register_unborn(worker, write.record, write.index, write.key);
  }
}

}  // namespace granary::cc::silo
