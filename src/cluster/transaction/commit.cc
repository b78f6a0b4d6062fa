// The commit at other nodes, in the order in which src/cc/commit.h calls them.

#include <algorithm>

#include "kvstore/remote/version_check.h"
#include "src/base/test_hooks.h"
#include "src/cc/versions.h"
#include "src/cluster/record_access/header_read.h"
#include "src/cluster/record_access/release.h"
#include "src/cluster/transaction/remote_transaction.h"

namespace granary::cluster {

using base::injected;
using messages::Ask;

namespace {

/// Looks at a participant's E before a transaction gives up waiting for it; between two, others go on.
constexpr unsigned kMostEpochLooks = 1 << 16;
/// Times that a lock or a write-back is gone on with over a new connection.
constexpr unsigned kMostResumptions = 8;

}  // namespace

std::span<const cc::RemoteWrite> RemoteTransaction::writes() {
  if (writes_.empty()) {
    for (const Access& access : accesses_) {
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

// --- Step 1 ---

AbortReason RemoteTransaction::lock() {
  if (writes().empty()) return AbortReason::kNone;
  if (reach_.undelivered.full()) return AbortReason::kTooMuchUndelivered;
  AbortReason reason = check_own_leases();
  if (reason == AbortReason::kNone) reason = place_writes();
  if (reason == AbortReason::kNone) reason = lock_all();
  if (reason != AbortReason::kNone) release();
  return reason;
}

/// Finds the records of blind writes, and has the owners make those of new keys.
AbortReason RemoteTransaction::place_writes() {
  std::vector<Access*> unseen;
  for (Access& access : accesses_) {
    if (access.written && access.seen == Access::Seen::kNothing) unseen.push_back(&access);
  }
  const AbortReason reason = look(unseen);
  if (reason != AbortReason::kNone) return reason;
  std::vector<Access*> missing;
  for (Access& access : accesses_) {
    if (access.written && access.seen == Access::Seen::kNoRecord) missing.push_back(&access);
  }
  return make_places(missing);
}

/// Each gets an absent placeholder, unless somebody has made one meanwhile. Whoever relies on the key's absence must notice if
/// another transaction commits to it first, which the leaf's version does not tell: the TID under the lock does.
AbortReason RemoteTransaction::make_places(std::span<Access* const> accesses) {
  std::deque<Ask<messages::Place>> questions;
  std::vector<messages::Question*> all;
  for (const Access* const access : accesses) {
    all.push_back(&questions.emplace_back(
        access->key.home, messages::Place{.table = access->key.table->id(), .key = access->key.key, .make = true}));
  }
  ask_all(all);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Access& access = *accesses[i];
    const AbortReason reason = why(questions[i]);
    if (reason != AbortReason::kNone) return reason;
    const messages::PlaceAnswer& answer = questions[i].answer();
    take(access, answer.record);
    if (!answer.made && access.found() && access.read) return AbortReason::kNodeChanged;
    for (const messages::ChangedNode& change : answer.changes) {
      const AbortReason noted = note_change(access.key.home, change);
      if (noted != AbortReason::kNone) return noted;
    }
  }
  return AbortReason::kNone;
}

/// As a transaction does with its own inserts (Silo 4.6).
AbortReason RemoteTransaction::note_change(rdma::NodeId node, const messages::ChangedNode& change) {
  const auto find = [&](std::uint64_t offset) {
    return std::find_if(nodes_.begin(), nodes_.end(),
                        [&](const SeenAt& known) { return known.node == node && known.seen.offset == offset; });
  };
  if (change.before != 0 || change.kind == messages::NodeKind::kBucket) {
    const auto known = find(change.offset);
    if (known == nodes_.end()) return AbortReason::kNone;
    if (known->seen.version != change.before) return AbortReason::kNodeChanged;
    known->seen.version = change.after;
  } else if (find(change.split_from) != nodes_.end()) {
    nodes_.push_back({node, {.kind = change.kind, .offset = change.offset, .version = change.after}});
  }
  return AbortReason::kNone;
}

/// One chain a node: the locks, then E.
AbortReason RemoteTransaction::lock_all() {
  std::deque<XLock> locks;
  std::vector<Access*> written;
  std::vector<AccessStep*> steps;
  for (Access& access : accesses_) {
    if (!access.written || access.held()) continue;
    void* const room = buffer(XLock::buffer_bytes(access.key.key.size()));
    if (room == nullptr || !make_release_room(access, access.new_value.size())) return AbortReason::kOutOfMemory;
    steps.push_back(
        &locks.emplace_back(access.record, reach_.holders.next(), room, reach_.lease_expired, access.state));
    written.push_back(&access);
  }
  if (steps.empty() && epochs_known()) return AbortReason::kNone;  // all are held since declare()
  return take_locks(locks, written, steps);
}

/// `holds`: the locks, and what else takes hold of records in the same round.
AbortReason RemoteTransaction::take_locks(std::deque<XLock>& locks, std::span<Access* const> accesses,
                                          std::span<AccessStep* const> holds) {
  const AbortReason unnamed = name(locks, accesses);
  if (unnamed != AbortReason::kNone) return unnamed;
  const AbortReason unreached = run_before_epochs(Phase::kLock, holds);
  if (unreached == AbortReason::kOutOfMemory) return unreached;  // nothing was posted
  AbortReason reason = settle_locks(locks, accesses);
  if (reason == AbortReason::kNone) reason = unreached;
  return reason;
}

/// I10: in the lock-ahead record, before the first CAS is posted; all of them or, if there is no room, none.
AbortReason RemoteTransaction::name(const std::deque<XLock>& locks, std::span<Access* const> accesses) {
  if (!record_.logs()) return AbortReason::kNone;
  std::uint64_t bytes = 0;
  for (const Access* const access : accesses) bytes += log::named_bytes(access->key.key.size());
  if (!record_.reserve(bytes)) return AbortReason::kLogEntryTooLarge;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const txn::RemoteKey& key = accesses[i]->key;
    record_.add({.word = locks[i].mine(),
                 .node = key.home,
                 .table = key.table->id(),
                 .key = key.key,
                 .place = accesses[i]->record.at.offset});
  }
  if (!injected("name-after-lock")) record_.publish();
  return AbortReason::kNone;
}

bool RemoteTransaction::make_release_room(Access& access, std::size_t value_bytes) {
  access.release_room = buffer(Release::buffer_bytes(access.key.key.size(), value_bytes));
  return access.release_room != nullptr;
}

/// READs every participant's E behind what takes hold of records there (I7), or shares a lease, in the same chain.
AbortReason RemoteTransaction::run_before_epochs(Phase phase, std::span<AccessStep* const> holds) {
  const auto holding_at = [holds](rdma::NodeId node) {
    return std::any_of(holds.begin(), holds.end(), [node](const AccessStep* step) {
      return step->node() == node && step->outcome() == Outcome::kOpen;
    });
  };
  std::vector<Step*> steps(holds.begin(), holds.end());
  std::deque<EpochRead> epochs;
  for (const Participant& participant : participants_) {
    void* const room = buffer(EpochRead::kBufferBytes);
    if (room == nullptr) return AbortReason::kOutOfMemory;
    EpochRead::Until until;
    if (!injected("epoch-before-locks")) {
      until.others = [&holding_at, node = participant.node] { return holding_at(node); };
    }
    steps.push_back(&epochs.emplace_back(participant.control, room, std::move(until)));
  }
  run(phase, steps);
  for (std::size_t i = 0; i < epochs.size(); ++i) participants_[i].epoch = epochs[i].epoch();
  return epochs_known() ? AbortReason::kNone : AbortReason::kNodeUnreachable;
}

bool RemoteTransaction::epochs_known() const {
  return std::all_of(participants_.begin(), participants_.end(),
                     [](const Participant& participant) { return participant.epoch != 0; });
}

/// What became of each lock. One whose connection broke is found out over the next connection, if there is one.
AbortReason RemoteTransaction::settle_locks(std::deque<XLock>& locks, std::span<Access* const> accesses) {
  if (injected("name-after-lock")) record_.publish();
  AbortReason reason = AbortReason::kNone;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    XLock& lock = locks[i];
    Access& access = *accesses[i];
    if (lock.outcome() == Outcome::kBroken) {
      go_on(Phase::kLock, lock);
      if (lock.outcome() == Outcome::kBroken)
        undelivered_.emplace_back(access.record, lock.mine(), access.release_room);
      reason = AbortReason::kNodeUnreachable;  // what else was READ over the old connection is of no use
    }
    if (lock.outcome() == Outcome::kDone) {
      access.lock = lock.mine();
      access.locked_tid = lock.tid();
    }
    if (lock.outcome() == Outcome::kBusy && record::is_lease(lock.holder()))
      lease_in_way_us_ = std::max(lease_in_way_us_, record::lease_end_us(lock.holder()));
    if (reason != AbortReason::kNone) continue;
    if (lock.outcome() == Outcome::kMoved && access.seen == Access::Seen::kNothing) {
      forget_place(access);
      continue;
    }
    reason = why(lock.outcome(), lock.holder());
    if (reason == AbortReason::kRecordBusy) reason = AbortReason::kRemotelyLocked;
    if (reason == AbortReason::kNone && access.read && access.locked_tid != access.tid) {
      reason = AbortReason::kReadChanged;
    }
  }
  return reason;
}

// --- Step 2 ---

AbortReason RemoteTransaction::agree(epoch::Epoch here, epoch::Epoch& agreed) {
  if (writes().empty() && !(epochs_known() && all_held())) {
    // Nothing is locked elsewhere: E in front of what is validated, in one round.
    const AbortReason reason = validate_behind_epochs();
    if (reason != AbortReason::kNone) return reason;
  }
  agreed = std::max(here, record::epoch_of(greatest_tid()));
  for (const Participant& participant : participants_) agreed = std::max(agreed, participant.epoch);
  validated_ = writes().empty() &&
               std::all_of(participants_.begin(), participants_.end(),
                           [&agreed](const Participant& participant) { return participant.epoch >= agreed; });
  return injected("skip-epoch-wait") ? AbortReason::kNone : await_epoch(agreed);
}

/// I7: E of every participant is at least the transaction's epoch before anything is validated there.
AbortReason RemoteTransaction::await_epoch(epoch::Epoch agreed) {
  std::deque<EpochRead> epochs;
  std::vector<Step*> steps;
  for (const Participant& participant : participants_) {
    if (participant.epoch >= agreed) continue;
    void* const room = buffer(EpochRead::kBufferBytes);
    if (room == nullptr) return AbortReason::kOutOfMemory;
    // Whoever is out is led no further.
    const auto in_vain = [this, node = participant.node] {
      return !reach_.is_member(node) || cc::shut_out(reach_.worker.shared);
    };
    steps.push_back(&epochs.emplace_back(
        participant.control, room, EpochRead::Until{.at_least = agreed, .looks = kMostEpochLooks, .in_vain = in_vain}));
  }
  if (steps.empty()) return AbortReason::kNone;
  cc::bump(reach_.counters.epoch_waits, std::uint64_t{1});
  run(Phase::kAgree, steps);
  for (const EpochRead& read : epochs) {
    if (read.reached()) continue;
    return read.epoch() == 0 || !reach_.is_member(read.node()) ? AbortReason::kNodeUnreachable
                                                               : AbortReason::kEpochsApart;
  }
  return AbortReason::kNone;
}

AbortReason RemoteTransaction::validate_behind_epochs() {
  std::deque<EpochRead> epochs;
  std::vector<Step*> first;
  for (const Participant& participant : participants_) {
    void* const room = buffer(EpochRead::kBufferBytes);
    if (room == nullptr) return AbortReason::kOutOfMemory;
    first.push_back(&epochs.emplace_back(participant.control, room));
  }
  const AbortReason reason = validate_behind(std::move(first));
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    participants_[i].epoch = epochs[i].epoch();
    if (epochs[i].epoch() == 0) return AbortReason::kNodeUnreachable;
  }
  return reason;
}

AbortReason RemoteTransaction::validate() {
  const AbortReason reason = std::exchange(validated_, false) ? AbortReason::kNone : validate_behind({});
  return reason == AbortReason::kNone ? confirm_leases() : reason;
}

/// Nothing is left to look at but leases.
bool RemoteTransaction::all_held() const {
  return nodes_.empty() &&
         std::none_of(accesses_.begin(), accesses_.end(), [](const Access& access) { return access.optimistic(); });
}

/// Reads `steps`, then the headers of what was read and the versions of nodes; a record that is x-locked by this transaction was
/// compared under the lock.
AbortReason RemoteTransaction::validate_behind(std::vector<Step*> steps) {
  using kvstore::remote::VersionCheck;
  std::deque<HeaderRead> headers;
  std::deque<VersionCheck> versions;
  for (const Access& access : accesses_) {
    if (!access.optimistic() || injected("skip-remote-validation")) continue;
    void* const room = buffer(sizeof(record::SharedRecord));
    if (room == nullptr) return AbortReason::kOutOfMemory;
    steps.push_back(&headers.emplace_back(access.record, access.tid, access.record.incarnation, room));
  }
  for (const SeenAt& node : nodes_) {
    if (injected("skip-remote-nodes")) break;
    auto* const room = static_cast<std::uint64_t*>(buffer(base::kWord));
    if (room == nullptr) return AbortReason::kOutOfMemory;
    steps.push_back(&versions.emplace_back(node.seen.kind, at(node.node, node.seen.offset), node.seen.version, room));
  }
  run(Phase::kValidate, steps);
  for (const HeaderRead& header : headers) {
    if (header.outcome() == Outcome::kBusy) return AbortReason::kReadLocked;
    const AbortReason reason = why(header.outcome());
    if (reason != AbortReason::kNone) return reason;
  }
  for (const VersionCheck& version : versions) {
    if (version.outcome() == VersionCheck::Outcome::kChanged) return AbortReason::kNodeChanged;
    if (version.outcome() != VersionCheck::Outcome::kUnchanged) return AbortReason::kNodeUnreachable;
  }
  return AbortReason::kNone;
}

base::LeaseEnd RemoteTransaction::held_until() const {
  if (!epochs_known() || !all_held()) return {};
  std::uint64_t end_us = ~std::uint64_t{0};
  for (const Access& access : accesses_) {
    if (access.leased()) end_us = std::min(end_us, access.lease_end_us);
  }
  return {.end_us = end_us, .jumps = lease_jumps_.value_or(0)};
}

record::TidWord RemoteTransaction::greatest_tid() const {
  record::TidWord greatest = 0;
  for (const Access& access : accesses_) {
    if (access.read) greatest = std::max(greatest, record::tid_of(access.tid));
    greatest = std::max(greatest, record::tid_of(access.locked_tid));
  }
  return greatest;
}

// --- Step 3 ---

AbortReason RemoteTransaction::prepare(epoch::Epoch epoch) {
  const epoch::Epoch period = reach_.worker.shared.epochs.snap(epoch);
  std::deque<Ask<messages::KeepVersion>> questions;
  std::vector<messages::Question*> all;
  for (const Access& access : accesses_) {
    if (!access.held() || !access.written || !cc::snapshots_may_need(reach_.worker, access.locked_tid, period))
      continue;
    all.push_back(&questions.emplace_back(
        access.key.home,
        messages::KeepVersion{
            .table = access.key.table->id(), .key = access.key.key, .holder = access.lock, .epoch = epoch}));
  }
  ask_all(all);
  for (const auto& question : questions) {
    const AbortReason reason = why(question);
    if (reason != AbortReason::kNone) return reason;
    if (!question.answer().held) return AbortReason::kRecordReplaced;
  }
  return AbortReason::kNone;
}

// --- Step 4 ---

void RemoteTransaction::write_back(record::TidWord tid) {
  give_back(Phase::kWriteBack, tid);
  note_removed(tid);
}

void RemoteTransaction::release() { give_back(Phase::kLock, 0); }

/// I5. What breaks is gone on with over the next connection. When nothing is left to do, the record gets its completion mark.
void RemoteTransaction::give_back(Phase phase, record::TidWord tid) {
  if (injected("mark-before-write-back")) record_.complete();
  std::deque<Release> releases;
  std::vector<Step*> steps;
  for (Access& access : accesses_) {
    if (!access.held()) continue;
    Release& release = releases.emplace_back(access.record, access.lock, access.release_room);
    if (tid != 0 && access.written) {
      const record::TidWord absent = access.remove ? record::kAbsent : 0;
      release.set_version(tid | record::kLatest | absent, access.record.incarnation, access.new_value);
    }
    access.lock = record::kFree;
    steps.push_back(&release);
  }
  run(phase, steps);
  for (Release& release : releases) {
    go_on(phase, release);
    if (release.outcome() == Outcome::kBroken) undelivered_.push_back(release);
  }
  if (undelivered_.empty()) record_.complete();
}

/// A node that has not answered is not waited for again, as the transaction holds E back.
bool RemoteTransaction::reconnect(rdma::NodeId node) {
  if (std::find(silent_.begin(), silent_.end(), node) != silent_.end()) return false;
  const bool connected = reach_.connect(node);
  if (!connected) silent_.push_back(node);
  return connected;
}

/// Of a lock or a release: over a few connections more. What has not ended then is undelivered.
template <typename Resumable>
void RemoteTransaction::go_on(Phase phase, Resumable& step) {
  for (unsigned turn = 0; step.outcome() == Outcome::kBroken; ++turn) {
    if (turn == kMostResumptions || !reconnect(step.node())) {
      cc::bump(reach_.counters.unfinished, std::uint64_t{1});
      return;
    }
    step.resume();
    Step* const one = &step;
    run(phase, {&one, 1});
  }
}

void RemoteTransaction::note_removed(record::TidWord tid) {
  std::deque<Ask<messages::NoteRemoved>> questions;
  std::vector<messages::Question*> all;
  for (const cc::RemoteWrite& write : writes_) {
    if (!write.remove) continue;
    all.push_back(&questions.emplace_back(
        write.node,
        messages::NoteRemoved{.table = write.table, .key = write.key, .tid = tid | record::kLatest | record::kAbsent}));
  }
  ask_all(all);  // what is lost is registered when the owner recovers
}

}  // namespace granary::cluster
