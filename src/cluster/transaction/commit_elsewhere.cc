#include "src/cluster/transaction/commit_elsewhere.h"

#include <algorithm>

#include "kvstore/remote/version_check.h"
#include "src/base/test_hooks.h"
#include "src/cc/versions.h"
#include "src/cluster/record_access/header_read.h"
#include "src/cluster/transaction/remote_place.h"
#include "src/cluster/transaction/why.h"

namespace granary::cluster {

using base::injected;
using kvstore::remote::VersionCheck;

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
  validated_ = false;
}

// --- Step 1 ---

AbortReason CommitElsewhere::lock() {
  if (writes().empty()) return AbortReason::kNone;
  AbortReason reason = locks_.refused();
  if (reason != AbortReason::kNone) return reason;
  reason = declared_.check_own_leases();
  if (reason == AbortReason::kNone) reason = place_writes();
  if (reason == AbortReason::kNone) reason = lock_all();
  if (reason != AbortReason::kNone) release();
  return reason;
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
  return locks_.take(locks, wanted, steps);
}

// --- Step 2 ---

AbortReason CommitElsewhere::agree(epoch::Epoch here, epoch::Epoch& agreed) {
  Participants& participants = footprint_.participants;
  const bool writes_nothing = writes().empty();
  if (writes_nothing && !(participants.epochs_known() && all_held())) {
    // Nothing is locked elsewhere: E in front of what is validated, in one round.
    const AbortReason reason = validate(Epochs::kInFront);
    if (reason != AbortReason::kNone) return reason;
  }
  agreed = std::max({here, record::epoch_of(greatest_tid()), participants.greatest_epoch()});
  validated_ = writes_nothing && participants.are_all_in(agreed);
  return injected("skip-epoch-wait") ? AbortReason::kNone : participants.await_epoch(agreed);
}

AbortReason CommitElsewhere::validate() {
  const AbortReason reason = std::exchange(validated_, false) ? AbortReason::kNone : validate(Epochs::kKnown);
  return reason == AbortReason::kNone ? declared_.confirm_leases() : reason;
}

/// Nothing is left to look at but leases.
bool CommitElsewhere::all_held() const {
  const AccessTable& accesses = footprint_.accesses;
  return footprint_.nodes.empty() &&
         std::none_of(accesses.begin(), accesses.end(), [](const Access& access) { return access.optimistic(); });
}

/// READs the headers of what was read and the versions of nodes; a record that is x-locked by this transaction was compared under
/// the lock.
AbortReason CommitElsewhere::validate(Epochs epochs) {
  Trips& trips = footprint_.trips;
  Participants& participants = footprint_.participants;
  Batch<EpochRead> in_front = trips.batch<EpochRead>(participants.size());
  Batch<HeaderRead> headers = trips.batch<HeaderRead>(footprint_.accesses.size());
  Batch<VersionCheck> versions = trips.batch<VersionCheck>(footprint_.nodes.size());
  Batch<Step*> steps = trips.batch<Step*>(participants.size() + footprint_.accesses.size() + footprint_.nodes.size());
  if (epochs == Epochs::kInFront && !participants.add_epoch_reads(in_front, steps)) return AbortReason::kOutOfMemory;
  for (const Access& access : footprint_.accesses) {
    if (!access.optimistic() || injected("skip-remote-validation")) continue;
    void* const room = trips.buffer(sizeof(record::SharedRecord));
    if (room == nullptr) return AbortReason::kOutOfMemory;
    steps.push_back(&headers.emplace_back(access.record, access.tid, access.record.incarnation, room));
  }
  for (const RemoteNodeSet::Seen& seen : footprint_.nodes) {
    if (injected("skip-remote-nodes")) break;
    auto* const room = static_cast<std::uint64_t*>(trips.buffer(base::kWord));
    if (room == nullptr) return AbortReason::kOutOfMemory;
    const RemotePlace& place = seen.place;
    steps.push_back(&versions.emplace_back(place.kind, participants.at(place.node, place.offset), seen.version, room));
  }
  trips.run(Phase::kValidate, std::span<Step* const>(steps));
  const AbortReason reason = epochs == Epochs::kInFront ? participants.take(in_front) : AbortReason::kNone;
  if (reason != AbortReason::kNone) return reason;
  for (const HeaderRead& header : headers) {
    if (header.outcome() == Outcome::kBusy) return AbortReason::kReadLocked;
    if (const AbortReason changed = why(header, footprint_.reach()); changed != AbortReason::kNone) return changed;
  }
  for (const VersionCheck& version : versions) {
    if (version.outcome() == VersionCheck::Outcome::kChanged) return AbortReason::kNodeChanged;
    if (version.outcome() != VersionCheck::Outcome::kUnchanged) return why_failed(version, footprint_.reach());
  }
  return AbortReason::kNone;
}

base::LeaseEnd CommitElsewhere::held_until() const {
  if (!footprint_.participants.epochs_known() || !all_held()) return {};
  std::uint64_t end_us = ~std::uint64_t{0};
  for (const Access& access : footprint_.accesses) {
    if (access.leased()) end_us = std::min(end_us, access.lease_end_us);
  }
  return {.end_us = end_us, .jumps = declared_.lease_jumps()};
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

AbortReason CommitElsewhere::prepare(epoch::Epoch epoch) {
  const cc::WorkerState& worker = footprint_.reach().worker;
  const epoch::Epoch period = worker.shared.epochs.snap(epoch);
  const Batch<Access*> overwritten = footprint_.all([&](const Access& access) {
    return access.held() && access.written && cc::snapshots_may_need(worker, access.locked_tid, period);
  });
  messages::Questions<messages::KeepVersion>& questions = footprint_.trips.questions<messages::KeepVersion>();
  for (const Access* const access : overwritten) {
    questions.add(access->key.home,
                  {.table = access->key.table->id(), .key = access->key.key, .holder = access->lock, .epoch = epoch});
  }
  footprint_.trips.ask(questions.all());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const AbortReason reason = why(questions[i], footprint_.reach());
    if (reason != AbortReason::kNone) return reason;
    if (!questions[i].answer().held) return AbortReason::kRecordReplaced;
  }
  return AbortReason::kNone;
}

// --- Step 4 ---

void CommitElsewhere::write_back(record::TidWord tid) {
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
