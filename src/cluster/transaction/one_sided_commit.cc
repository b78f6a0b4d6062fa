#include "src/cluster/transaction/one_sided_commit.h"

#include <algorithm>
#include <new>

#include "src/base/test_hooks.h"
#include "src/cluster/transaction/abort_reasons.h"
#include "src/cluster/transaction/remote_index_node.h"

namespace granary::cluster {

using base::injected;

namespace {

/// Whether the record is x-locked and will get its first version.
bool is_first_write(const Access& access) {
  return access.written() && access.x_locked() && record::tid_of(access.lock.tid) == 0;
}

}  // namespace

bool OneSidedCommit::list_writes() noexcept {
  writes_.clear();
  try {
    for (const Access& access : footprint_.accesses) {
      if (!access.written()) continue;
      writes_.push_back({.node = access.key.home,
                         .table = access.key.table->id(),
                         .key = access.key.key,
                         .value = access.write.value,
                         .remove = access.write.removes});
    }
    return true;
  } catch (const std::bad_alloc&) {
    writes_.clear();  // the log must not have a part of the writes alone (I8)
    return false;
  }
}

void OneSidedCommit::end() {
  writes_.clear();
  agreed_.reset();
}

bool OneSidedCommit::make_ready(epoch::Epoch here) {
  if (footprint_.touched.empty()) return true;
  const AccessTable& accesses = footprint_.accesses;
  // Loose is a record that is written without a lock, or that was declared and is not held because its lease was about
  // to end: the commit would have to lock or validate it.
  const auto is_loose = [](const Access& access) {
    const bool to_hold = access.declared.kind != DeclaredHold::Kind::kNone && access.has_record();
    return !access.x_locked() && (access.written() || (to_hold && !access.leased()));
  };
  if (!checks_.nothing_to_check() || std::any_of(accesses.begin(), accesses.end(), is_loose)) return false;
  const Agreement agreed = agree_on_epoch(here, 0);
  if (failed(agreed.reason)) return false;
  return old_versions_.keep(agreed.epoch, footprint_.all([](const Access& access) { return access.x_locked(); })) ==
         AbortReason::kNone;
}

// --- lock ---

AbortReason OneSidedCommit::lock() noexcept {
  if (writes_.empty()) return AbortReason::kNone;
  AbortReason reason = locks_.refused();
  if (failed(reason)) return reason;
  reason = declared_.check_own_leases();
  if (!failed(reason)) reason = find_or_make_records();
  if (!failed(reason)) reason = lock_all();
  if (!failed(reason)) reason = learn_misses();
  if (failed(reason)) release();
  return reason;
}

/// READs the times of missed keys (src/cc/shared_miss_times.h), behind the locks of records that are written for the
/// first time, unless the round of these locks has READ them. No other round READs them, so none is from before the
/// locks.
AbortReason OneSidedCommit::learn_misses() {
  if (!footprint_.reach().stamps_reads) return AbortReason::kNone;
  const AccessTable& accesses = footprint_.accesses;
  const bool known = std::all_of(accesses.begin(), accesses.end(), [this](const Access& access) {
    return !is_first_write(access) || footprint_.touched.missed(access.key.home, access.key.table->id());
  });
  if (known) return AbortReason::kNone;
  return footprint_.touched.read_epochs(TripPhase::kLock, TouchedNodes::With::kMisses);
}

/// Finds the records of blind writes, and has the owners make those of new keys.
AbortReason OneSidedCommit::find_or_make_records() {
  const AbortReason reason =
      reading_.find(footprint_.all([](const Access& access) { return access.written() && access.unseen(); }));
  if (failed(reason)) return reason;
  return make_placeholders(
      footprint_.all([](const Access& access) { return access.written() && access.has_no_record(); }));
}

/// Has the owners make a placeholder for each key, unless the key has a record by now. If the transaction relies on a
/// key's absence, it must notice when another transaction commits to the placeholder first. The version of the leaf
/// does not show that. The answer does, if that transaction has committed before the owner looked at the placeholder
/// that it had just made, and otherwise the TID that is found under the lock.
AbortReason OneSidedCommit::make_placeholders(std::span<Access* const> accesses) {
  messages::Questions<messages::FindRecord>& questions = footprint_.trips.questions<messages::FindRecord>();
  for (const Access* const access : accesses) {
    questions.add(access->key.home, {.table = access->key.table->id(), .key = access->key.key, .make = true});
  }
  footprint_.trips.ask(questions.all());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Access& access = *accesses[i];
    if (const AbortReason reason = abort_reason_of(questions[i], footprint_.reach()); failed(reason)) return reason;
    const messages::FindRecordAnswer& answer = questions[i].answer();
    reading_.adopt_answer(access, answer.record);
    const bool unwritten = answer.made && injected("made-means-unwritten");
    if (access.had_value() && access.read && !unwritten) return AbortReason::kNodeChanged;
    for (const messages::ChangedNode& change : answer.changes) {
      if (!footprint_.nodes.note_change(change_of(access.key.home, change))) return AbortReason::kNodeChanged;
    }
  }
  return AbortReason::kNone;
}

/// X-locks all records to write that are not held yet, with one chain for each node: the locks, and then a READ of E,
/// and of the times of missed keys if a record that is locked may get its first version.
AbortReason OneSidedCommit::lock_all() {
  const Batch<Access*> wanted =
      footprint_.all([](const Access& access) { return access.written() && !access.x_locked(); });
  Batch<XLock> locks = footprint_.trips.batch<XLock>(wanted.size());
  Batch<AccessStep*> steps = footprint_.trips.batch<AccessStep*>(wanted.size());
  for (Access* const access : wanted) {
    XLock* const lock = locks_.add_lock(locks, *access, access->write.value.size());
    if (lock == nullptr) return AbortReason::kBuffersUsedUp;
    steps.push_back(lock);
  }
  if (steps.empty() && footprint_.touched.epochs_known())
    return AbortReason::kNone;  // all are held since they were declared, and E was READ behind their locks
  const bool with_misses = footprint_.reach().stamps_reads &&
                           std::any_of(wanted.begin(), wanted.end(),
                                       [](const Access* access) { return record::tid_of(access->seen.tid) == 0; });
  return locks_.acquire(locks, wanted, steps, with_misses ? TouchedNodes::With::kMisses : TouchedNodes::With::kEpoch);
}

// --- agree and validate ---

AbortReason OneSidedCommit::agree(epoch::Epoch here, record::TidWord stamp, epoch::Epoch& agreed) {
  const Agreement agreement = agree_on_epoch(here, stamp);
  if (failed(agreement.reason)) return agreement.reason;
  agreed_ = agreement;
  agreed = agreement.epoch;
  return AbortReason::kNone;
}

OneSidedCommit::Agreement OneSidedCommit::agree_on_epoch(epoch::Epoch here, record::TidWord stamp) {
  TouchedNodes& touched = footprint_.touched;
  const AccessTable& accesses = footprint_.accesses;
  ChecksDone checks = ChecksDone::none();
  if (std::none_of(accesses.begin(), accesses.end(), [](const Access& access) { return access.written(); })) {
    const AbortReason reason = read_epochs_and_check(stamp, checks);
    if (failed(reason)) return {.reason = reason};
  }
  const epoch::Epoch agreed = std::max({here, record::epoch_of(greatest_tid()), touched.greatest_epoch()});
  // Checks that were made before E had come so far everywhere do not count.
  if (!touched.all_read_at_least(agreed)) checks = ChecksDone::none();
  const AbortReason reason = injected("skip-epoch-wait") ? AbortReason::kNone : touched.await_epoch(agreed);
  return {.reason = reason, .epoch = agreed, .checks = checks};
}

/// READs E of all participants, for a transaction that writes nothing at other nodes. Its commit has locked nothing
/// there, so E is READ in front of what is checked, in the same round. Under TicToc that needs a stamp for which the
/// checks can be made already.
AbortReason OneSidedCommit::read_epochs_and_check(record::TidWord stamp, ChecksDone& checks) {
  if (footprint_.touched.epochs_known() && checks_.nothing_to_check()) {
    checks = ChecksDone::for_all_stamps();
    return AbortReason::kNone;
  }
  const bool together = !footprint_.reach().stamps_reads || (stamp != 0 && checks_.can_check(stamp));
  if (!together) return footprint_.touched.read_epochs(TripPhase::kAgree);
  checks = ChecksDone::until(stamp);
  return checks_.run(ReadChecks::Epochs::kInFront, stamp);
}

AbortReason OneSidedCommit::validate(record::TidWord stamp) {
  const std::optional<Agreement> agreed = std::exchange(agreed_, std::nullopt);
  if (!agreed || !agreed->checks.covers(stamp)) {
    AbortReason reason = prepare_to_check(stamp);
    if (!failed(reason)) reason = check_and_keep(stamp, agreed ? std::optional(agreed->epoch) : std::nullopt);
    if (failed(reason)) return reason;
  }
  if (footprint_.reach().stamps_reads) raise_rts_of_held_reads(stamp);
  return declared_.confirm_leases();
}

/// Makes sure that the checks can be made for the stamp. In a commit the epochs that this needs are known. A validation
/// before the commit may have to READ them first.
AbortReason OneSidedCommit::prepare_to_check(record::TidWord stamp) {
  if (checks_.can_check(stamp)) return AbortReason::kNone;
  const AbortReason reason = footprint_.touched.read_epochs(TripPhase::kAgree);
  return failed(reason) || checks_.can_check(stamp) ? reason : AbortReason::kEpochsApart;
}

/// Makes the checks, and copies old versions in the same round if the epoch is agreed on. If a check fails, the copies
/// were made for nothing, which does no harm (I12).
AbortReason OneSidedCommit::check_and_keep(record::TidWord stamp, std::optional<epoch::Epoch> agreed) {
  const Batch<Access*> overwritten = agreed ? this->overwritten() : footprint_.trips.batch<Access*>(0);
  OldVersions::Copies copies(footprint_.trips, overwritten.size());
  AbortReason reason = old_versions_.make_copies(agreed.value_or(0), overwritten, copies);
  if (!failed(reason)) reason = checks_.run(ReadChecks::Epochs::kKnown, stamp, copies.steps);
  return failed(reason) ? reason : old_versions_.confirm_copies(copies);
}

/// Validates, under TicToc, the records that are x-locked and only read. Such a record has not changed until now, but
/// must not be overwritten at a time before the stamp either. So the stamp becomes the record's rts when the lock is
/// given back.
void OneSidedCommit::raise_rts_of_held_reads(record::TidWord stamp) {
  if (injected("tictoc-forgets-held-reads")) return;
  for (Access& access : footprint_.accesses) {
    record::StateWord& left = access.lock.state_to_leave;
    if (access.x_locked() && access.read && !access.written()) left = std::max(left, stamp);
  }
}

base::LeaseEnd OneSidedCommit::held_until() const {
  if (!footprint_.touched.epochs_known() || !checks_.nothing_to_check()) return {};
  std::uint64_t end_us = ~std::uint64_t{0};
  for (const Access& access : footprint_.accesses) {
    if (access.leased()) end_us = std::min(end_us, access.declared.lease_end_us);
  }
  return {.end_us = end_us, .jumps = declared_.lease_jumps()};
}

/// Returns the latest epoch of a removal whose record may have left its index at another node by now. A removal waits
/// there until no snapshot needs what it has replaced, by what all nodes have told the leader before; or, without
/// snapshots, for the transactions that are open, of which this is one.
epoch::Epoch OneSidedCommit::removed_up_to() const {
  const cc::DatabaseState& shared = footprint_.reach().worker.shared;
  const epoch::Epoch after = shared.settings.snapshots
                                 ? shared.epochs.control().by_node.oldest_snapshot.load(std::memory_order_acquire)
                                 : shared.epochs.current();
  return std::max(after, epoch::Epoch{1}) - 1;
}

record::TidWord OneSidedCommit::least_time() const {
  constexpr record::TidWord kOne = record::make_tid(0, 1);
  record::TidWord least = record::make_tid(footprint_.sealed_from, 0);
  const bool missed = !footprint_.nodes.empty() && !injected("tictoc-shows-removals-early");
  if (missed) least = std::max(least, record::make_tid(removed_up_to(), 0));
  for (const Access& access : footprint_.accesses) {
    if (access.read) least = std::max(least, record::tid_of(access.seen.tid));
    if (!access.x_locked() || !access.written()) continue;
    if (!injected("tictoc-ignores-remote-rts")) least = std::max(least, access.lock.rts + kOne);
    least = std::max(least, record::tid_of(access.lock.tid) + kOne);
    // Before the locks are taken these times are not known, and not needed yet.
    if (is_first_write(access) && !injected("tictoc-ignores-remote-misses")) {
      const auto missed_until = footprint_.touched.missed(access.key.home, access.key.table->id());
      least = std::max(least, missed_until.value_or(0) + kOne);
    }
  }
  return least;
}

record::TidWord OneSidedCommit::greatest_tid() const {
  record::TidWord greatest = 0;
  for (const Access& access : footprint_.accesses) {
    if (access.read) greatest = std::max(greatest, record::tid_of(access.seen.tid));
    greatest = std::max(greatest, record::tid_of(access.lock.tid));
  }
  return greatest;
}

// --- prepare ---

/// Keeps old versions. Mostly validate() has done it already, in the round of its checks.
AbortReason OneSidedCommit::prepare(epoch::Epoch epoch) { return old_versions_.keep(epoch, overwritten()); }

Batch<Access*> OneSidedCommit::overwritten() {
  return footprint_.all([](const Access& access) { return access.x_locked() && access.written(); });
}

// --- write back ---

/// Whether the write-back may be sent without waiting for it. A removal must be waited for, since the owner is told of
/// it only when it has been written.
bool OneSidedCommit::may_send() const {
  const Reach& reach = footprint_.reach();
  if (injected("log-after-write-back")) return false;  // otherwise the log would be written before the WRITEs arrive
  return reach.scheduler.current() != nullptr && reach.under_way < Reach::kMostUnderWay &&
         std::none_of(writes_.begin(), writes_.end(), [](const cc::RemoteWrite& write) { return write.remove; });
}

void OneSidedCommit::write_back(record::TidWord tid) noexcept {
  if (may_send()) {
    locks_.send_back(tid);
  } else {
    locks_.write_back(tid, writes_);
  }
}

}  // namespace granary::cluster
