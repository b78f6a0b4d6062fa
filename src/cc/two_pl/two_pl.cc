#include "src/cc/two_pl/two_pl.h"

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/cc/lock_record.h"

namespace granary::cc::two_pl {
namespace {

using record::ReadState;
using record::StableRead;

/// A wait ends after so many pauses in any case, since the holder may wait for something that this thread has to do.
constexpr std::uint32_t kPatience = 4 * base::kBoundedPauses;

/// How one attempt to lock has ended. kHeld: the owner had a lock already, which is enough now. kTaken: it has its
/// first lock on the record. kChanged: the word has changed meanwhile. kBusy: other owners hold or want the lock.
enum class Attempt : std::uint8_t { kHeld, kTaken, kChanged, kBusy };
/// Makes one attempt to lock. `word` becomes the size word as it was seen.
Attempt try_lock(Record& record, Kind wanted, OwnerSet owner, std::uint64_t& word) {
  word = base::load_word(&record.size_word);
  if (holds(word, owner, wanted)) return Attempt::kHeld;
  if (is_closed(word) || (!may_have(word, owner, wanted) && !base::injected("two-pl-shares-everything")))
    return Attempt::kBusy;
  const bool first = (holders_of(word) & owner) == 0;
  if (!base::compare_exchange_word(&record.size_word, word, taken_by(word, owner, wanted))) return Attempt::kChanged;
  return first ? Attempt::kTaken : Attempt::kHeld;
}

bool ensure_owner(WorkerState& worker, AccessSet& access) {
  HeldLocks& held = access.held;
  if (held.owner == 0) {
    held.owner = worker.shared.owners.take();
    access.must_let_go = held.owner != 0;  // even if no lock is taken, the owner may have to be given back
    worker.own_owners |= held.owner;
  }
  if (held.owner != 0 && held.records.empty()) worker.shared.owners.begins(held.owner);
  return held.owner != 0;
}

AbortReason refused(Kind wanted) {
  return wanted == Kind::kShared ? AbortReason::kRecordBusy : AbortReason::kWriteLocked;
}

/// Returns the owners of the worker's transactions whose handles were dropped.
OwnerSet dropped_owners(const WorkerState& worker) {
  OwnerSet owners = 0;
  worker.visit_dropped([&owners](const AccessSet& dropped) { owners |= dropped.held.owner; });
  return owners;
}

/// Returns why a transaction need not wait for these owners: they are other transactions of the same worker, which give
/// nothing back meanwhile. Nor do they when it is run again, unless the handles of all of them were dropped: the worker
/// ends those when the next attempt begins. kNone if all of them may give something back.
AbortReason barred_by(OwnerSet owners, Kind wanted, const HeldLocks& held, const WorkerState& worker) {
  const OwnerSet standing = owners & (worker.standing_owners() | held.outer);
  if (standing == 0) [[likely]]
    return AbortReason::kNone;
  return (standing & ~dropped_owners(worker)) == 0 ? refused(wanted) : AbortReason::kLockedByOwnWorker;
}

/// Returns why the lock that this word tells of is not waited for. The word may say kWanted besides; that passes, and
/// so is no reason.
AbortReason barred(std::uint64_t word, Kind wanted, const HeldLocks& held, const WorkerState& worker) {
  const bool excludes = wanted == Kind::kExclusive || (word & kAlone) != 0;
  return excludes ? barred_by(in_the_way(word, held.owner), wanted, held, worker) : AbortReason::kNone;
}

/// Waits for an owner, if all are taken: each is given back when the transaction that has it ends. If another
/// transaction of the same worker has one and was not dropped, all of them may be waiting here, so this one gives up
/// for good.
AbortReason await_owner(Kind wanted, WorkerState& worker, AccessSet& access) {
  for (std::uint32_t turn = 0; turn < kPatience; ++turn) {
    if (ensure_owner(worker, access)) [[likely]]
      return AbortReason::kNone;
    worker.waiter->pause(turn);
  }
  const AbortReason none = barred_by(~OwnerSet{0}, wanted, access.held, worker);
  access.refused_by_own_worker = none == AbortReason::kLockedByOwnWorker;
  return none == AbortReason::kNone ? refused(wanted) : none;
}

/// Tries to lock until an attempt succeeds, it is barred() or gives_up(word) is true, or kPatience is used up. If the
/// record is not the latest any more it returns kNone without a lock: the caller finds that by the TID word, and looks
/// the key up again. Where there is no memory to note a lock that was taken, the process ends (see commit.h), because
/// the lock would never be given back.
template <typename GivesUp>
AbortReason lock_until(Record& record, Kind wanted, WorkerState& worker, AccessSet& access,
                       GivesUp&& gives_up) noexcept {
  HeldLocks& held = access.held;
  access.refused_by_own_worker = false;
  if (const AbortReason none = await_owner(wanted, worker, access); none != AbortReason::kNone) return none;
  for (std::uint32_t turn = 0; turn < kPatience; ++turn) {
    std::uint64_t word = 0;
    const Attempt attempt = try_lock(record, wanted, held.owner, word);
    if (attempt == Attempt::kTaken) {
      held.records.push_back(&record);
      access.must_let_go = true;
    }
    if (attempt == Attempt::kTaken || attempt == Attempt::kHeld) return AbortReason::kNone;
    if (attempt == Attempt::kChanged) continue;
    if (!record::is_latest(record.tid())) return AbortReason::kNone;
    if (const AbortReason no = barred(word, wanted, held, worker); no != AbortReason::kNone) [[unlikely]] {
      access.refused_by_own_worker = no == AbortReason::kLockedByOwnWorker;
      return no;
    }
    if (gives_up(word)) break;
    worker.waiter->pause(turn);
  }
  return refused(wanted);
}

}  // namespace

AbortReason AbortsAtOnce::lock(Record& record, Kind wanted, WorkerState& worker, AccessSet& access) {
  return lock_until(record, wanted, worker, access, [](std::uint64_t word) { return !is_closed(word); });
}

AbortReason WaitsUnlessDeadlocked::lock(Record& record, Kind wanted, WorkerState& worker, AccessSet& access) {
  Owners& owners = worker.shared.owners;
  const OwnerSet& owner = access.held.owner;  // taken by the first attempt, if the transaction has none yet
  bool waited = false;
  const AbortReason reason = lock_until(record, wanted, worker, access, [&](std::uint64_t word) {
    waited = true;
    if (wanted == Kind::kExclusive) set_wanted(record, true);
    const bool circle = owners.must_abort(owner, in_the_way(word, owner)) && !base::injected("two-pl-ignores-deadlock");
    if (circle) base::sync_point("two_pl.circle");
    return circle;
  });
  if (!waited) return reason;
  owners.waits_no_more(owner);
  if (reason != AbortReason::kNone && wanted == Kind::kExclusive) set_wanted(record, false);
  return reason;
}

/// Reads a record whose lock the transaction holds. No other transaction changes the record. Only garbage collection
/// takes its lock bit, for a moment, if the record is absent.
StableRead Common::read_locked(const Record& record, std::span<char> buffer, bool copy, WorkerState& worker) {
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    const TidWord tid = record.tid();
    if (record::is_locked(tid)) {
      worker.waiter->pause(turn);
      continue;
    }
    if (!record::is_latest(tid)) return {tid, ReadState::kReplaced};
    if (record::is_absent(tid)) return {tid, ReadState::kMissing};
    const auto size = static_cast<std::uint32_t>(record.size());
    if (!copy) return {tid, ReadState::kValue, size};
    if (size > buffer.size()) return {tid, ReadState::kTooSmall, size};
    base::copy_from_shared(buffer.data(), record.value_words(), size);
    base::sync_point("read.copied");
    base::debug_invariant("I29", [&] { return record::unlocked(record.tid()) == tid; });
    return {tid, ReadState::kValue, size};
  }
  return {};
}

AbortReason Common::claim_locked(Record& record, const WorkerState& worker) { return lock_record(record, worker); }

/// cc::install() may replace the record by a new one. It copies the upper bits of the size word, so the new record has
/// a lock that no transaction would give back: HeldLocks names the old record. This function takes that lock away.
void Common::install(WriteEntry& write, WorkerState& worker, TidWord tid, epoch::Epoch period) {
  Record* const replacement = write.replacement;
  base::debug_invariant("I29", [&] { return (base::load_word(&write.record->size_word) & kAlone) != 0; });
  cc::install(write, worker, tid, period);
  if (replacement == nullptr) return;
  std::uint64_t& size_word = replacement->size_word;
  base::store_word(&size_word, base::load_word(&size_word) & record::kSizeMask);
}

/// An absent record may leave if its lock is free: a transaction that has read the absence holds the lock until it
/// ends. The lock of a record that leaves stays closed (is_closed), so no owner takes it any more.
bool Common::may_leave_index(Record& record, const WorkerState&) {
  const std::uint64_t word = base::load_word(&record.size_word);
  if (base::injected("two-pl-forgets-absence")) return true;
  return holders_of(word) == 0 && (word & kAlone) == 0 &&
         base::compare_exchange_word(&record.size_word, word, word | kAlone);
}

void Common::let_go_last(HeldLocks& held) {
  two_pl::let_go(*held.records.back(), held.owner);
  held.records.pop_back();
}

void Common::let_go(HeldLocks& held) {
  for (Record* const record : held.records) two_pl::let_go(*record, held.owner);
  held.records.clear();
}

}  // namespace granary::cc::two_pl
