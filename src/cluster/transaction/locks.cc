#include "src/cluster/transaction/locks.h"

#include <utility>

#include "src/base/test_hooks.h"
#include "src/cluster/transaction/abort_reasons.h"
#include "src/cluster/transaction/resumption.h"

namespace granary::cluster {

using base::injected;

namespace {

/// Forgets the remembered place of a key whose record is not there. Of ordered tables only leaves are remembered, and
/// the leaf may still be the key's.
void forget_place(const Access& access, Reach& reach) {
  if (!access.table->hashed()) return;
  const RemoteRecord& record = access.record;
  const std::uint64_t offset = record.at.offset + offsetof(record::SharedRecord, head);
  access.table->cache->forget(kvstore::hash::HashedKey(access.key.key).word, {offset, record.incarnation},
                              reach.counters.locations);
}

/// Notes that the record is held, and the version that it has under the lock. All of that version is known if it is the
/// one that was seen with its value. `timed`: whether state words hold rts (TicToc).
void note_held(Access& access, const XLock& lock, bool timed) {
  access.lock.word = lock.mine();
  access.lock.state_to_leave = lock.replaced();
  access.lock.tid = lock.tid();
  if (timed) access.lock.rts = lock.rts();
  const bool as_seen = access.has_record() && record::tid_of(access.seen.tid) == record::tid_of(lock.tid());
  if (as_seen && access.seen.has_value)
    access.lock.version = {.tid = lock.tid(), .previous = lock.previous(), .value = access.seen.value};
}

}  // namespace

Locks::Locks(Footprint& footprint)
    : footprint_(footprint),
      named_(footprint.reach().worker.ring == nullptr ? nullptr : footprint.reach().worker.ring->lock_ahead()) {}

XLock* Locks::add_lock(Batch<XLock>& locks, Access& access, std::size_t value_bytes, XLock::Fetch fetch) {
  const std::size_t key_bytes = access.key.key.size();
  void* const room = footprint_.trips.buffer(fetch == XLock::Fetch::kRecord ? XLock::buffer_bytes(access.record)
                                                                            : XLock::buffer_bytes(key_bytes));
  access.lock.release_room = footprint_.trips.buffer(Release::buffer_bytes(key_bytes, value_bytes));
  if (room == nullptr || access.lock.release_room == nullptr) return nullptr;
  Reach& reach = footprint_.reach();
  return &locks.emplace_back(access.record, reach.holders.next(), room, reach.lease_expired, access.seen.state, fetch);
}

AbortReason Locks::acquire(Batch<XLock>& locks, std::span<Access* const> accesses, std::span<AccessStep* const> holds,
                           TouchedNodes::With with) noexcept {
  if (const AbortReason unnamed = name_locks(locks, accesses); failed(unnamed)) return unnamed;
  const AbortReason unreached = footprint_.touched.run_before_epochs(TripPhase::kLock, holds, with);
  if (unreached == AbortReason::kBuffersUsedUp) return unreached;  // nothing was posted
  const AbortReason reason = adopt_locks(locks, accesses);
  return failed(reason) ? reason : unreached;
}

/// Names the locks in the lock-ahead record, before the first CAS is posted (I10). Names all of them or, if there is no
/// room, none.
AbortReason Locks::name_locks(const Batch<XLock>& locks, std::span<Access* const> accesses) {
  if (!named_.logs()) return AbortReason::kNone;
  std::uint64_t bytes = 0;
  for (const Access* const access : accesses) bytes += log::named_bytes(access->key.key.size());
  if (!named_.reserve(bytes)) return AbortReason::kLogEntryTooLarge;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const txn::RemoteKey& key = accesses[i]->key;
    named_.add({.word = locks[i].mine(),
                .node = key.home,
                .table = key.table->id(),
                .key = key.key,
                .state_offset = accesses[i]->record.at.offset});
  }
  if (!injected("name-after-lock")) named_.publish();
  return AbortReason::kNone;
}

/// Finds out what became of each lock, since locks that were taken have to be given back. Returns the first reason to
/// abort.
AbortReason Locks::adopt_locks(Batch<XLock>& locks, std::span<Access* const> accesses) {
  if (injected("name-after-lock")) named_.publish();
  AbortReason first = AbortReason::kNone;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const AbortReason reason = adopt_lock(locks[i], *accesses[i]);
    // A node that cannot be used counts more than any other reason, as what was READ over a broken connection means
    // nothing.
    if (!failed(first) || is_unusable(reason)) first = reason;
  }
  return first;
}

/// Finds out what became of one lock, over a new connection if its connection broke, and notes it in the access.
/// Returns kNone, or why the transaction must end.
AbortReason Locks::adopt_lock(XLock& lock, Access& access) {
  Reach& reach = footprint_.reach();
  const bool broken = lock.outcome() == AccessOutcome::kBroken;
  if (broken) {
    resume_broken(footprint_, TripPhase::kLock, lock);
    if (lock.outcome() == AccessOutcome::kBroken)
      undelivered_.emplace_back(access.record, lock.mine(), lock.replaced(), access.lock.release_room);
  }
  if (lock.outcome() == AccessOutcome::kDone) note_held(access, lock, reach.stamps_reads);
  if (lock.outcome() == AccessOutcome::kBusy && record::is_lease(lock.holder()) && !reach.stamps_reads)
    footprint_.lease_wait.note(record::lease_end_us(lock.holder()));
  if (broken) return abort_reason_of_failure(lock, reach);
  if (lock.outcome() == AccessOutcome::kMoved && access.unseen()) {
    forget_place(access, reach);
    access.place_was_stale = true;
    if (injected("moved-means-removed")) access.seen.note_no_record();
    return AbortReason::kNone;
  }
  const AbortReason reason = abort_reason_of(lock, lock.holder(), reach);
  if (reason == AbortReason::kRecordBusy) return AbortReason::kRemotelyLocked;
  const bool relies = access.read && !access.unseen();
  const bool changed = !failed(reason) && relies && access.lock.tid != access.seen.tid;
  return changed ? AbortReason::kReadChanged : reason;
}

void Locks::write_back(record::TidWord tid, std::span<const cc::RemoteWrite> writes) {
  begin_release(tid).run(TripPhase::kWriteBack);
  end_release();
  note_removed(tid, writes);
  complete();
}

void Locks::release() {
  begin_release(0).run(TripPhase::kLock);
  end_release();
  complete();
}

bool Locks::under_way() noexcept {
  if (!run_) return false;
  if (run_->under_way()) return true;
  run_->finish_sent();
  end_release();
  complete();
  return false;
}

ReleaseRun& Locks::begin_release(record::TidWord tid) {
  if (injected("mark-before-write-back")) named_.complete();
  return run_.emplace(footprint_, tid);
}

void Locks::end_release() {
  run_->move_broken_to(undelivered_);
  run_.reset();
}

/// Asks the owners to register the records that were removed for garbage collection (cc::register_removed_by_holder).
/// An owner does nothing if the removal has not arrived. So if some could not be given back, all are asked about again
/// when they could (undelivered.h), which does no harm to the others.
void Locks::note_removed(record::TidWord tid, std::span<const cc::RemoteWrite> writes) {
  messages::Questions<messages::NoteRemoved>& questions = footprint_.trips.questions<messages::NoteRemoved>();
  for (const cc::RemoteWrite& write : writes) {
    if (!write.remove) continue;
    const record::TidWord word = record::version_word(tid, /*removed=*/true);
    questions.add(write.node, {.table = write.table, .key = write.key, .tid = word});
    if (some_undelivered())
      removals_.push_back({.node = write.node, .table = write.table, .key = std::string(write.key), .tid = word});
  }
  footprint_.trips.ask(questions.all());  // if a question is lost, the record is registered when the owner recovers
}

/// Sets the completion mark of the lock-ahead record, unless a lock could not be given back.
void Locks::complete() {
  if (!some_undelivered()) named_.complete();
}

/// There may be names of locks that were never asked for.
void Locks::end() noexcept {
  complete();
  if (!some_undelivered()) return;
  footprint_.reach().undelivered.keep(std::exchange(undelivered_, {}), std::exchange(removals_, {}),
                                      footprint_.trips.hand_over_buffers(), std::move(named_));
}

}  // namespace granary::cluster
