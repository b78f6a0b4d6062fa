#pragma once
// Two-phase locking, as guests of src/cc/protocol.h: reads lock what they read, shared, until the transaction ends; updates lock what they
// will write, alone, when they look at it, and puts and inserts when they commit. NO_WAIT aborts who meets a lock; DL_DETECT waits, unless
// that would close a circle (Yu et al., VLDB 2014, section 2.1; the baselines of TicToc's section 6). At repeatable read the locks of reads
// are given back at once. A snapshot, which two-phase locking does not have, is serializable.
//
// Leaves are not locked: the node set is compared behind the last lock, as Silo does. All locks are held there, so all that was read is as it
// was, and the transaction is serial at that point. E is read there as well, so epochs, TIDs and snapshots are Silo's.

#include <span>
#include <string_view>

#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/install.h"
#include "src/cc/protocol.h"
#include "src/cc/silo/stamp.h"
#include "src/cc/two_pl/record_lock.h"
#include "src/cc/worker_state.h"

namespace granary::cc::two_pl {

/// Takes the lock, or aborts at once / waits for a bounded while, unless its holders wait for this owner.
struct AbortsAtOnce {
  static AbortReason lock(Record& record, Kind wanted, WorkerState& worker, HeldLocks& held);
};
struct WaitsUnlessDeadlocked {
  static AbortReason lock(Record& record, Kind wanted, WorkerState& worker, HeldLocks& held);
};

/// What both have in common; see Protocol for the functions.
struct Common {
  static constexpr bool kStampsFirst = false;
  static constexpr bool kLocks = true;

  static void give_back(Record& record) { record.unlock_unchanged(); }
  /// A record that was read is locked, so only one that the transaction has put into its index itself can have changed.
  static AbortReason check_local(const ReadEntry& read, const Claims&, const Moment&, const WorkerState&) {
    return record::unlocked(read.record->tid()) == read.tid ? AbortReason::kNone : AbortReason::kReadChanged;
  }
  static TidWord stamp(AccessSet& access, WorkerState& worker, epoch::Epoch epoch, TidWord elsewhere) {
    return silo::choose_tid(access, worker, epoch, elsewhere);
  }
  static AbortReason no_stamp(epoch::Epoch epoch) { return silo::no_tid_left(epoch); }
  static bool prepare(WriteEntry& write, WorkerState& worker, epoch::Epoch period) {
    return cc::prepare(write, worker, period);
  }
  static void unprepare(WriteEntry& write, WorkerState& worker) { cc::unprepare(write, worker); }
  static void install(WriteEntry& write, WorkerState& worker, TidWord tid, epoch::Epoch period);
  static bool may_leave_index(Record& record, const WorkerState& worker);
  /// At repeatable read, gives back the lock of what was only read: whether it was read again in another version, or is written and has
  /// changed, the commit tells (RepeatableReadHere).
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
    if (Policy::lock(record, Kind::kShared, worker, access.held) != AbortReason::kNone) return {};
    const record::StableRead seen = read_locked(record, buffer, /*copy=*/true, worker);
    const bool is_new = access.held.records.size() > held;
    if (is_new && access.isolation == Isolation::kRepeatableRead) let_go_last(access.held);
    return seen;
  }
  static record::StableRead look(Record& record, WorkerState& worker, AccessSet& access, TidWord& /*rts*/) {
    if (Policy::lock(record, Kind::kExclusive, worker, access.held) != AbortReason::kNone) return {};
    return read_locked(record, {}, /*copy=*/false, worker);
  }
  static AbortReason claim(Record& record, WorkerState& worker, AccessSet& access) {
    if (const AbortReason no = Policy::lock(record, Kind::kExclusive, worker, access.held); no != AbortReason::kNone)
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
