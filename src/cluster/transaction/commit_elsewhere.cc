#include "src/cluster/transaction/commit_elsewhere.h"

#include <algorithm>

#include "src/base/test_hooks.h"
#include "src/cluster/transaction/remote_place.h"
#include "src/cluster/transaction/why.h"

namespace granary::cluster {

using base::injected;

namespace {

/// Whether it writes a key that has had no version so far; the record is x-locked.
bool is_first_write(const Access& access) {
  return access.written && access.held() && record::tid_of(access.locked_tid) == 0;
}

}  // namespace

std::span<const cc::RemoteWrite> CommitElsewhere::writes() {
  if (writes_.empty()) {
    for (const Access& access : footprint_.accesses) {
      if (!access.written) continue;
      writes_.push_back({.node = access.key.home,
                         .table = access.key.table->id(),
                         .key = access.key.key,
                         .value = access.new_value,
                         .remove = access.remove});
    }
  }
  return writes_;
}

void CommitElsewhere::end() {
  writes_.clear();
  validated_.reset();
  misses_known_ = false;
  agreed_ = 0;
}

bool CommitElsewhere::make_ready(epoch::Epoch here) {
  if (footprint_.participants.empty()) return true;
  const AccessTable& accesses = footprint_.accesses;
  // Also what was declared, where a lease was about to end: it is validated as if it had not been.
  const auto is_loose = [](const Access& access) {
    const bool to_hold = access.hold != Access::Hold::kNone && access.seen == Access::Seen::kRecord;
    return !access.held() && (access.written || (to_hold && !access.leased()));
  };
  if (!checks_.none() || std::any_of(accesses.begin(), accesses.end(), is_loose)) return false;
  epoch::Epoch agreed = 0;
  const bool agrees = agree(here, 0, agreed) == AbortReason::kNone;
  validated_.reset();
  writes_.clear();  // there may be more of them before the commit
  if (!agrees) return false;
  return old_versions_.keep(agreed, footprint_.all([](const Access& access) { return access.held(); })) ==
         AbortReason::kNone;
}

// --- Step 1 ---

AbortReason CommitElsewhere::lock() {
  if (writes().empty()) return AbortReason::kNone;
  AbortReason reason = locks_.refused();
  if (reason != AbortReason::kNone) return reason;
  reason = declared_.check_own_leases();
  if (reason == AbortReason::kNone) reason = place_writes();
  if (reason == AbortReason::kNone) reason = lock_all();
  if (reason == AbortReason::kNone) reason = learn_misses();
  if (reason != AbortReason::kNone) release();
  return reason;
}

/// Sees to it that the times of missed keys were READ behind the locks of records that are written for the first time. Mostly they came with the
/// locks.
AbortReason CommitElsewhere::learn_misses() {
  const bool known = std::exchange(misses_known_, false);
  if (!footprint_.reach().timed || known) return AbortReason::kNone;
  const AccessTable& accesses = footprint_.accesses;
  if (std::none_of(accesses.begin(), accesses.end(), is_first_write)) return AbortReason::kNone;
  return footprint_.participants.run_before_epochs(Phase::kLock, {}, Participants::With::kMisses);
}

/// Finds the records of blind writes, and has the owners make those of new keys.
AbortReason CommitElsewhere::place_writes() {
  const AbortReason reason = reading_.look(
      footprint_.all([](const Access& access) { return access.written && access.seen == Access::Seen::kNothing; }));
  if (reason != AbortReason::kNone) return reason;
  return make_places(
      footprint_.all([](const Access& access) { return access.written && access.seen == Access::Seen::kNoRecord; }));
}

/// Each gets an absent placeholder, unless somebody has made one meanwhile. Whoever relies on the key's absence must notice if
/// another transaction commits to it first, which the leaf's version does not tell: the TID under the lock does.
AbortReason CommitElsewhere::make_places(std::span<Access* const> accesses) {
  messages::Questions<messages::Place>& questions = footprint_.trips.questions<messages::Place>();
  for (const Access* const access : accesses) {
    questions.add(access->key.home, {.table = access->key.table->id(), .key = access->key.key, .make = true});
  }
  footprint_.trips.ask(questions.all());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Access& access = *accesses[i];
    const AbortReason reason = why(questions[i], footprint_.reach());
    if (reason != AbortReason::kNone) return reason;
    const messages::PlaceAnswer& answer = questions[i].answer();
    reading_.take(access, answer.record);
    if (!answer.made && access.found() && access.read) return AbortReason::kNodeChanged;
    for (const messages::ChangedNode& change : answer.changes) {
      if (!footprint_.nodes.note_change(change_of(access.key.home, change))) return AbortReason::kNodeChanged;
    }
  }
  return AbortReason::kNone;
}

/// One chain a node: the locks, then E.
AbortReason CommitElsewhere::lock_all() {
  const Batch<Access*> wanted = footprint_.all([](const Access& access) { return access.written && !access.held(); });
  Batch<XLock> locks = footprint_.trips.batch<XLock>(wanted.size());
  Batch<AccessStep*> steps = footprint_.trips.batch<AccessStep*>(wanted.size());
  for (Access* const access : wanted) {
    XLock* const lock = locks_.add(locks, *access, access->new_value.size());
    if (lock == nullptr) return AbortReason::kOutOfMemory;
    steps.push_back(lock);
  }
  if (steps.empty() && footprint_.participants.epochs_known())
    return AbortReason::kNone;  // held since they were declared
  misses_known_ = footprint_.reach().timed && std::any_of(wanted.begin(), wanted.end(), [](const Access* access) {
                    return record::tid_of(access->tid) == 0;
                  });
  return locks_.take(locks, wanted, steps, misses_known_ ? Participants::With::kMisses : Participants::With::kEpoch);
}

// --- Step 2 ---

AbortReason CommitElsewhere::agree(epoch::Epoch here, record::TidWord stamp, epoch::Epoch& agreed) {
  Participants& participants = footprint_.participants;
  std::optional<record::TidWord> checked;
  if (writes().empty()) {
    checked = ~record::TidWord{0};
    if (!participants.epochs_known() || !checks_.none()) {
      // Nothing is locked elsewhere: E in front of what is validated, in one round, if that can be done.
      const bool together = !footprint_.reach().timed || (stamp != 0 && checks_.possible(stamp));
      const AbortReason reason = together ? checks_.run(ReadChecks::Epochs::kInFront, stamp)
                                          : participants.run_before_epochs(Phase::kAgree, {});
      if (reason != AbortReason::kNone) return reason;
      checked = together ? std::optional(stamp) : std::nullopt;
    }
  }
  agreed = std::max({here, record::epoch_of(greatest_tid()), participants.greatest_epoch()});
  validated_ = participants.are_all_in(agreed) ? checked : std::nullopt;
  agreed_ = agreed;
  return injected("skip-epoch-wait") ? AbortReason::kNone : participants.await_epoch(agreed);
}

AbortReason CommitElsewhere::validate(record::TidWord stamp) {
  const std::optional<record::TidWord> validated = std::exchange(validated_, std::nullopt);
  if (!validated || *validated < stamp) {
    AbortReason reason = AbortReason::kNone;
    // A commit knows the epochs here, but whoever asks before it may not.
    if (!checks_.possible(stamp)) {
      reason = footprint_.participants.run_before_epochs(Phase::kAgree, {});
      if (reason == AbortReason::kNone && !checks_.possible(stamp)) reason = AbortReason::kEpochsApart;
    }
    if (reason == AbortReason::kNone) reason = check_and_keep(stamp);
    if (reason != AbortReason::kNone) return reason;
  }
  if (footprint_.reach().timed) keep_until(stamp);
  return declared_.confirm_leases();
}

/// The copies of old versions go along with the checks, as the epoch is agreed on. Should a check fail, they were made in vain.
AbortReason CommitElsewhere::check_and_keep(record::TidWord stamp) {
  const epoch::Epoch agreed = std::exchange(agreed_, 0);
  const Batch<Access*> overwritten = agreed == 0 ? footprint_.trips.batch<Access*>(0) : this->overwritten();
  OldVersions::Copies copies(footprint_.trips, overwritten.size());
  AbortReason reason = old_versions_.make(agreed, overwritten, copies);
  if (reason == AbortReason::kNone) reason = checks_.run(ReadChecks::Epochs::kKnown, stamp, copies.steps);
  return reason == AbortReason::kNone ? old_versions_.take(copies) : reason;
}

/// A record that is x-locked and only read has not changed until now, but now says nothing of times. So the transaction leaves its stamp as the
/// record's rts, and whoever overwrites the record later does so behind it.
void CommitElsewhere::keep_until(record::TidWord stamp) {
  if (injected("tictoc-forgets-held-reads")) return;
  for (Access& access : footprint_.accesses) {
    if (access.held() && access.read && !access.written) access.replaced = std::max(access.replaced, stamp);
  }
}

base::LeaseEnd CommitElsewhere::held_until() const {
  if (!footprint_.participants.epochs_known() || !checks_.none()) return {};
  std::uint64_t end_us = ~std::uint64_t{0};
  for (const Access& access : footprint_.accesses) {
    if (access.leased()) end_us = std::min(end_us, access.lease_end_us);
  }
  return {.end_us = end_us, .jumps = declared_.lease_jumps()};
}

record::TidWord CommitElsewhere::least_time() const {
  constexpr record::TidWord kOne = record::make_tid(0, 1);
  record::TidWord least = record::make_tid(footprint_.sealed_from, 0);
  for (const Access& access : footprint_.accesses) {
    if (access.read) least = std::max(least, record::tid_of(access.tid));
    if (!access.held() || !access.written) continue;
    if (!injected("tictoc-ignores-remote-rts")) least = std::max(least, access.locked_rts + kOne);
    least = std::max(least, record::tid_of(access.locked_tid) + kOne);
    // Before the locks are taken the times are not known, nor needed.
    if (is_first_write(access) && !injected("tictoc-ignores-remote-misses")) {
      const auto missed = footprint_.participants.missed(access.key.home, access.key.table->id());
      least = std::max(least, missed.value_or(0) + kOne);
    }
  }
  return least;
}

record::TidWord CommitElsewhere::greatest_tid() const {
  record::TidWord greatest = 0;
  for (const Access& access : footprint_.accesses) {
    if (access.read) greatest = std::max(greatest, record::tid_of(access.tid));
    greatest = std::max(greatest, record::tid_of(access.locked_tid));
  }
  return greatest;
}

// --- Step 3 ---

/// validate() has kept the versions mostly, in the round of its READs.
AbortReason CommitElsewhere::prepare(epoch::Epoch epoch) { return old_versions_.keep(epoch, overwritten()); }

Batch<Access*> CommitElsewhere::overwritten() {
  return footprint_.all([](const Access& access) { return access.held() && access.written; });
}

// --- Step 4 ---

/// The owner is told of what was removed when it has been written, so that is waited for.
bool CommitElsewhere::may_send() const {
  const Reach& reach = footprint_.reach();
  if (injected("log-after-write-back")) return false;  // the log would be late, but not too late
  return reach.scheduler.current() != nullptr && reach.under_way < Reach::kMostUnderWay &&
         std::none_of(writes_.begin(), writes_.end(), [](const cc::RemoteWrite& write) { return write.remove; });
}

void CommitElsewhere::write_back(record::TidWord tid) {
  if (may_send()) {
    locks_.send_back(tid);
    return;
  }
  locks_.give_back(Phase::kWriteBack, tid);
  note_removed(tid);
}

void CommitElsewhere::note_removed(record::TidWord tid) {
  messages::Questions<messages::NoteRemoved>& questions = footprint_.trips.questions<messages::NoteRemoved>();
  for (const cc::RemoteWrite& write : writes_) {
    if (!write.remove) continue;
    questions.add(write.node,
                  {.table = write.table, .key = write.key, .tid = record::version_word(tid, /*removed=*/true)});
  }
  footprint_.trips.ask(questions.all());  // what is lost is registered when the owner recovers
}

}  // namespace granary::cluster
