#include "src/cc/holder_requests.h"

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/cc/garbage.h"
#include "src/cc/versions.h"
#include "src/record/shared_record.h"

namespace granary::cc {
namespace {

using record::SharedRecord;

SharedRecord* find(Index& index, std::string_view key) {
  auto* const record = record::record_of(index.find(key).value);
  return record != nullptr && record::is_shared(record) ? &record::shared_of(*record) : nullptr;
}

/// The lock bit, beside the holder's x-lock. It keeps everybody else away should the holder give up meanwhile: owners, and holders
/// after it, who see the bit under their x-locks and give way in their turn. So nothing is overwritten while it is copied. The
/// holder itself does not look at bits any more; its write-back, which it does not begin before it has the answer, would wipe it.
class BesideHolder {
 public:
  BesideHolder(SharedRecord& record, base::Waiter& waiter) : record_(record) {
    for (std::uint32_t turn = 0; turn < base::kBoundedPauses && !taken_; ++turn) {
      if (turn != 0) waiter.pause(turn - 1);
      tid_ = record.head.tid();
      taken_ = !record::is_locked(tid_) && record.head.try_lock(tid_);
    }
  }
  /// By CAS, which fails harmlessly if the bit was wiped.
  ~BesideHolder() {
    if (taken_) base::compare_exchange_word(&record_.head.tid_word, record::locked(tid_), tid_);
  }
  BesideHolder(const BesideHolder&) = delete;
  BesideHolder& operator=(const BesideHolder&) = delete;

  bool taken() const { return taken_; }
  TidWord tid() const { return tid_; }

 private:
  SharedRecord& record_;
  TidWord tid_ = 0;
  bool taken_ = false;
};

/// What others say is not believed. A free record is held by nobody; and a holder waits until this node has reached its epoch
/// (CommitElsewhere::agree), while what were kept for one far ahead would stay for ever, and all that is kept after it.
bool is_holders(const epoch::EpochManager& epochs, record::StateWord holder, epoch::Epoch epoch) {
  return record::is_x_locked(holder) && epochs.snapshot_of(epoch) <= epochs.current();
}

}  // namespace

Kept keep_version(WorkerState& worker, Index& index, std::string_view key, record::StateWord holder,
                  epoch::Epoch epoch) {
  if (!is_holders(worker.shared.epochs, holder, epoch)) return Kept::kNotHeld;
  SharedRecord* const record = find(index, key);
  if (record == nullptr) return Kept::kNotHeld;
  const BesideHolder lock(*record, *worker.waiter);
  if (!lock.taken()) return Kept::kBusy;
  if (record->state() != holder || !record::is_latest(lock.tid())) return Kept::kNotHeld;
  if (!snapshots_may_need(worker, lock.tid(), worker.shared.epochs.snap(epoch))) return Kept::kDone;

  Record& head = record->head;
  Record* const version = allocate_record(worker, head.size(), memory::Urgency::kNormal);
  if (version == nullptr) return Kept::kOutOfMemory;
  base::sync_point("holder.copying");
  if (!copy_version(head, key.size(), lock.tid(), *version, worker)) {
    worker.slabs.free(memory::SlabKind::kRecord, version);
    return Kept::kNotHeld;  // a holder that does not wait for the answer has written a larger value
  }
  base::debug_invariant("I12", [&] {
    return record::tid_of(version->tid()) == record::tid_of(lock.tid()) && version->previous() == head.previous();
  });
  base::sync_point("holder.copied");
  // Snapshot readers reach the copy only through this release store. Should the holder not write after all, it is a copy of what
  // is there, which nobody looks for, and it goes in its time.
  head.set_previous(version);
  register_version(worker, epoch, version);
  return Kept::kDone;
}

void note_removed(WorkerState& worker, Index& index, std::string_view key, TidWord tid) {
  if (!record::is_absent(tid)) return;  // of a record that is there
  SharedRecord* const record = find(index, key);
  if (record == nullptr || record::unlocked(record->head.tid()) != tid) return;
  register_absent(worker, record::epoch_of(tid), &record->head, &index, tid, key);
}

}  // namespace granary::cc
