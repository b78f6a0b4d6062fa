#pragma once
// Implements the protocols `no_wait` and `dl_detect`: two-phase locking, as guests of src/cc/protocol.h. They are the
// baselines of TicToc's section 6, after Yu et al. (VLDB 2014, section 2.1). They know local tables only.
//
// Locks. A read takes the record's lock, shared, and keeps it until the transaction ends. An operation that looks at
// the record before it writes, such as an update, takes the lock exclusively at that look. A put, and an insert of a
// key that has no record, take it when the transaction commits. A transaction that meets a lock aborts under NO_WAIT.
// Under DL_DETECT it waits, unless its wait would close a cycle. Another open transaction of the same worker does not
// give its locks back while this one waits or is run again. So a transaction that meets such a lock aborts under both
// with kLockedByOwnWorker, which is not retried. The exception is a transaction whose handle another thread or body has
// dropped: the next attempt begins with its end, so the reason is one that is retried.
//
// Isolation. Under repeatable read the locks of reads are given back at once. Two-phase locking has no snapshot
// isolation; a transaction that asks for it is serializable.
//
// Leaves are not locked. The versions of the node set are compared after the last lock, as Silo does. All locks are
// held at that point, so all that was read is unchanged, and the transaction is serial there. E is read there, too, so
// epochs, TIDs and snapshot transactions are Silo's.

#include <span>
#include <string_view>

#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/install.h"
#include "src/cc/protocol.h"
#include "src/cc/silo/stamp.h"
#include "src/cc/two_pl/held_locks.h"
#include "src/cc/two_pl/record_lock.h"
#include "src/cc/worker_state.h"

namespace granary::cc::two_pl {

/// NO_WAIT: takes the lock, or fails at once.
struct AbortsAtOnce {
  static AbortReason lock(Record& record, Kind wanted, WorkerState& worker, AccessSet& access);
};
/// DL_DETECT: takes the lock, waiting for a bounded time. Fails at once if the wait closes a cycle and this owner must
/// abort.
struct WaitsUnlessDeadlocked {
  static AbortReason lock(Record& record, Kind wanted, WorkerState& worker, AccessSet& access);
};

/// Has the functions of Protocol that both protocols share.
struct Common {
  static constexpr bool kStampsFirst = false;

  static void give_back(Record& record) { record.unlock_unchanged(); }
  /// A record that was read is locked and has not changed. The exception is a placeholder that the transaction has put
  /// into an index itself, which is not locked before the commit.
  static AbortReason check_local(const ReadEntry& read, const Claims&, const Moment&, const WorkerState&) {
    return record::unlocked(read.record->tid()) == read.tid ? AbortReason::kNone : AbortReason::kReadChanged;
  }
  static TidWord stamp(AccessSet& access, WorkerState& worker, epoch::Epoch epoch, TidWord remote_bound) {
    return silo::choose_tid(access, worker, epoch, remote_bound);
  }
  static AbortReason reason_for_no_stamp(epoch::Epoch epoch) { return silo::no_tid_left(epoch); }
  static bool prepare(WriteEntry& write, WorkerState& worker, epoch::Epoch period) {
    return cc::prepare(write, worker, period);
  }
  static void unprepare(WriteEntry& write, WorkerState& worker) { cc::unprepare(write, worker); }
  static void install(WriteEntry& write, WorkerState& worker, TidWord tid, epoch::Epoch period);
  static bool may_leave_index(Record& record, const WorkerState& worker);
  /// Gives back the lock that was taken last. Under repeatable read this follows each read. The commit then checks that
  /// no record was read in two versions, or was changed before it is written (RepeatableReadHere).
  static void let_go_last(HeldLocks& held);
  /// Gives back all locks of a transaction that has ended.
  static void let_go(HeldLocks& held);

 protected:
  static record::StableRead read_locked(const Record& record, std::span<char> buffer, bool copy, WorkerState& worker);
  static AbortReason claim_locked(Record& record, const WorkerState& worker);
};

template <typename Policy>
struct TwoPhaseLocking : Common {
  static record::StableRead read(Record& record, std::size_t /*key_bytes*/, std::span<char> buffer, WorkerState& worker,
                                 AccessSet& access, TidWord& /*rts*/) {
    const std::size_t held = access.held.records.size();
    if (Policy::lock(record, Kind::kShared, worker, access) != AbortReason::kNone) return {};
    const record::StableRead seen = read_locked(record, buffer, /*copy=*/true, worker);
    const bool is_new = access.held.records.size() > held;
    if (is_new && access.isolation == Isolation::kRepeatableRead) let_go_last(access.held);
    return seen;
  }
  static record::StableRead look(Record& record, WorkerState& worker, AccessSet& access, TidWord& /*rts*/) {
    if (Policy::lock(record, Kind::kExclusive, worker, access) != AbortReason::kNone) return {};
    return read_locked(record, {}, /*copy=*/false, worker);
  }
  static AbortReason claim(Record& record, WorkerState& worker, AccessSet& access) {
    if (const AbortReason no = Policy::lock(record, Kind::kExclusive, worker, access); no != AbortReason::kNone)
      return no;
    return claim_locked(record, worker);
  }
};

struct NoWait : TwoPhaseLocking<AbortsAtOnce> {
  static constexpr std::string_view kName = "no_wait";
};
struct DeadlockDetect : TwoPhaseLocking<WaitsUnlessDeadlocked> {
  static constexpr std::string_view kName = "dl_detect";
};
static_assert(Protocol<NoWait> && LocksRecords<NoWait>);
static_assert(Protocol<DeadlockDetect> && LocksRecords<DeadlockDetect>);

}  // namespace granary::cc::two_pl
