#include "recovery/apply.h"

#include <fmt/format.h>

#include <iterator>

#include "recovery/checked_text.h"
#include "recovery/fold_parts.h"
#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/cc/records.h"
#include "src/record/shared_change.h"

namespace granary::recovery {
namespace {

using cc::Lookup;
using kvstore::ordered::LeafHint;
using record::Record;
using record::TidWord;

TidWord word_of(const LoggedWrite& write) { return record::version_word(write.tid, write.removed); }

void fill(Record& record, const LoggedWrite& write) { cc::fill_record(record, write.key, write.value, word_of(write)); }

bool is_older(const LoggedWrite& write, TidWord present) {
  return write.tid <= record::tid_of(present) && !base::injected("replay-any-order");
}

}  // namespace

Applier::Applier(std::span<txn::TableCore* const> tables, cc::WorkerState& worker, PendingParts& pending,
                 PackedIndexes* frugal)
    : tables_(tables),
      worker_(worker),
      slot_(worker.shared.epochs.acquire_slot()),
      batches_(std::make_unique<Batch[]>(tables.size())),
      pending_(pending),
      frugal_(frugal) {
  touched_.reserve(tables.size());
}

Applier::~Applier() {
  if (slot_ != nullptr) worker_.shared.epochs.release_slot(slot_);
}

Applier::Outcome Applier::flush() {
  while (!touched_.empty()) {
    const Outcome outcome = apply(touched_.back());
    if (outcome != Outcome::kOk) return outcome;
  }
  return Outcome::kOk;
}

/// Finds the batch's records together, so that cache misses overlap, then applies write by write.
Applier::Outcome Applier::apply(std::uint32_t id) {
  txn::TableCore& table = *tables_[id];
  Batch& batch = batches_[id];
  std::array<std::string_view, kBatch> keys;
  std::array<Lookup, kBatch> found;
  for (std::size_t i = 0; i < batch.count; ++i) keys[i] = batch.writes[i].key;
  worker_.shared.epochs.enter(*slot_);
  table.index().find_many({keys.data(), batch.count}, {found.data(), batch.count});
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (found[i].value != 0) table.prefetch(record::record_of(found[i].value));
  }
  LeafHint hint;
  bool done = true;
  for (std::size_t i = 0; i < batch.count && done; ++i) {
    const LoggedWrite& write = batch.writes[i];
    done = apply_one(table, write, record::record_of(found[i].value), hint);
    if (done || frugal_ == nullptr) continue;
    missing_bytes_ += table.likely_bytes(write.key.size(), write.value.size());
    done = true;
  }
  if (frugal_ != nullptr) {
    free_replaced();  // later writes of the batch may have found these records before
    frugal_->look();
  }
  worker_.shared.epochs.leave(*slot_);
  batch.count = 0;
  std::erase(touched_, id);
  return done ? Outcome::kOk : Outcome::kOutOfMemory;
}

/// Makes a record for the write, which is in no index yet. Returns nullptr if there is no memory.
Record* Applier::make_record(const txn::TableCore& table, const LoggedWrite& write) {
  Record* const record = table.make_record(worker_, write.key, write.value.size());
  if (record != nullptr) fill(*record, write);
  return record;
}

void Applier::note_absent(txn::TableCore& table, const LoggedWrite& write, Record* record) {
  absents_.push_back({&table, record, std::string(write.key)});
}

/// Keeps a part of a value until fold(). A part that is older than the record's value never counts, whatever comes
/// later. Returns false if memory is used up.
bool Applier::keep_part(const txn::TableCore& table, const LoggedWrite& write, const Record* record) {
  if (record != nullptr && write.tid <= record::tid_of(record->tid())) return true;
  ++applied_;
  return pending_.add(table.id(), write, *file_);
}

/// Applies one write. `record` is the one that the index led to, perhaps a moment ago, or nullptr if the key was
/// missing. Returns false if memory is used up.
bool Applier::apply_one(txn::TableCore& table, const LoggedWrite& write, Record* record, LeafHint& hint) {
  if (write.part) [[unlikely]]
    return keep_part(table, write, record);
  if (record == nullptr) {
    Record* const made = make_record(table, write);
    if (made == nullptr) return false;
    const cc::Inserted inserted = table.index().insert_if_absent(write.key, value_of(made), worker_.nodes, &hint);
    if (inserted.what == cc::InsertedWhat::kInserted) {
      if (write.removed) note_absent(table, write, made);
      ++applied_;
      return true;
    }
    cc::free_record(worker_, made);
    if (inserted.what == cc::InsertedWhat::kOutOfMemory) return false;
    record = record::record_of(inserted.present);
  }
  for (std::uint32_t turn = 0;; ++turn) {
    const TidWord word = record->tid();
    if (!record::is_latest(word)) {
      record =
          record::record_of(table.index().find(write.key).value);  // another thread has put a larger one in its place
      continue;
    }
    if (is_older(write, word)) return true;  // also if the record is locked: its holder only makes it newer
    if (!record::is_locked(word) && record->try_lock(word)) return overwrite(table, write, *record, word);
    worker_.shared.waiter.pause(turn);  // the holder is another applier, which waits for nothing
  }
}

/// Writes over a record that is locked. Its TID word was `old` before.
bool Applier::overwrite(txn::TableCore& table, const LoggedWrite& write, Record& record, TidWord old) {
  base::debug_invariant("I1", [&] { return write.tid > record::tid_of(old); });
  base::debug_invariant("I2", [&] { return record.tid() == record::locked(old); });
  Record* now = &record;
  if (record::record_bytes(write.value.size()) <= worker_.shared.slabs.capacity(&record)) {
    fill(record, write);
  } else {
    now = make_record(table, write);
    if (now == nullptr) {
      record.unlock_unchanged();
      return false;
    }
    const bool replaced = table.index().replace(write.key, value_of(&record), value_of(now));
    base::always_check(replaced, "a locked latest record is the one its index leads to");
    record.store_tid(record::superseded(old));
    replaced_.push_back(&record);
  }
  if (write.removed) note_absent(table, write, now);
  ++applied_;
  return true;
}

void Applier::fold(Baseless& baseless) {
  pending_.take_each([&](const PendingParts::Pending& pending) {
    worker_.shared.epochs.enter(*slot_);
    const Folded folded = fold_parts(*tables_[pending.table], pending.key, pending.parts);
    worker_.shared.epochs.leave(*slot_);
    if (folded == Folded::kDone || baseless.records++ != 0) return;
    const TidWord tid = pending.parts.newest();
    baseless.first = fmt::format(
        "the log cannot be replayed: '{}' has a part of a value, of transaction {}.{}, and {} (table {}, key '{}')",
        *pending.file, record::epoch_of(tid), record::sequence_of(tid),
        folded == Folded::kNoBase ? "neither log nor checkpoint has the value that it is a part of"
                                  : "log or checkpoint has a value of another size than the one that it is a part of",
        pending.table, escape(pending.key));
  });
}

void Applier::free_replaced() {
  for (record::Record* const record : replaced_) cc::free_record(worker_, record);
  replaced_.clear();
}

void Applier::finish(std::vector<Absent>& absents) {
  worker_.shared.epochs.enter(*slot_);
  free_replaced();
  worker_.shared.epochs.leave(*slot_);
  absents.insert(absents.end(), std::make_move_iterator(absents_.begin()), std::make_move_iterator(absents_.end()));
  absents_ = {};
}

bool remove_absents(std::span<const Absent> absents, cc::WorkerState& worker) {
  if (absents.empty()) return true;
  epoch::Slot* const slot = worker.shared.epochs.acquire_slot();
  if (slot == nullptr) return false;
  worker.shared.epochs.enter(*slot);
  for (const Absent& absent : absents) {
    cc::Index& index = absent.table->index();
    // The index is asked first: a record that it does not lead to may have been freed already.
    if (index.find(absent.key).value != value_of(absent.record) || !record::is_absent(absent.record->tid())) continue;
    record::end_life(*absent.record, absent.key);
    index.remove(absent.key, value_of(absent.record), worker.nodes);
    cc::free_record(worker, absent.record);
  }
  worker.shared.epochs.leave(*slot);
  worker.shared.epochs.release_slot(slot);
  return true;
}

}  // namespace granary::recovery
