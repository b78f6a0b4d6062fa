// Prepares one write and makes it visible (phase 3 of the commit). All that can fail, such as an allocation, is done by
// prepare(), because a commit cannot fail any more once it is decided.

#include "src/cc/install.h"

#include "src/base/check.h"
#include "src/base/shared_parts.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/cc/garbage.h"
#include "src/cc/versions.h"
#include "src/record/shared_change.h"

namespace granary::cc {
namespace {

memory::Urgency urgency(const WriteEntry& write) {
  return write.remove ? memory::Urgency::kUrgent : memory::Urgency::kNormal;
}

/// Whether the new value has room in the record's block. Always true of a shared record, whose block has room for the
/// greatest value of its table (I3).
bool fits_in_place(const WorkerState& worker, const WriteEntry& write) {
  if (write.remove || write.is_part()) return true;
  const std::size_t bytes = record::record_bytes(write.value.size());
  if (bytes <= record::record_bytes(write.record->size()) &&
      !record::is_absent(write.record->tid(std::memory_order_relaxed))) {
    return true;
  }
  return bytes <= worker.shared.slabs.capacity(write.record);
}

/// Whether the record has a large block of which the new value would leave most unused. The blocks of records of
/// ordinary size are not looked at, since that costs time and gains little. A shared record has the same block for all
/// values.
bool wastes_block(const WorkerState& worker, const WriteEntry& write) {
  constexpr std::size_t kLarge = 4096, kLeastUsed = 4;  // bytes; and a fourth of them
  if (write.remove || write.is_part() || record::is_shared(write.record)) return false;
  const bool absent = record::is_absent(write.record->tid(std::memory_order_relaxed));
  if (!absent && record::record_bytes(write.record->size()) < kLarge) return false;
  const std::size_t capacity = worker.shared.slabs.capacity(write.record);
  return capacity >= kLarge && record::record_bytes(write.value.size()) < capacity / kLeastUsed;
}

/// Takes memory for the version that the write supersedes; false if there is none. A removal that finds no memory for a
/// copy takes a small absent record instead, which will replace the removed record, and that record itself stays as the
/// old version. So a full database can remove many rows with the little memory that is kept for urgent allocations.
/// Shared records never move (I3), so their versions are always copied.
bool prepare_version(WriteEntry& write, WorkerState& worker) {
  const bool may_move = !record::is_shared(write.record);
  write.version = allocate_record(worker, write.record->size(), may_move ? memory::Urgency::kNormal : urgency(write));
  if (write.version == nullptr && write.remove && may_move)
    write.replacement = allocate_record(worker, 0, memory::Urgency::kUrgent);
  return write.version != nullptr || write.replacement != nullptr;
}

/// Copies a part into the locked record. The rest of the value is the one that the transaction has read, since
/// validation has compared the version under the lock.
void overwrite_part(WriteEntry& write) {
  base::debug_invariant("I3", [&] {
    return write.record->size() == write.whole_bytes && write.part_from + write.value.size() <= write.whole_bytes;
  });
  base::copy_part_to_shared(write.record->value_words(), write.part_from, write.value.data(), write.value.size());
}

/// Overwrites the locked record. The store of the TID word releases the lock and publishes value and size with it.
void overwrite(WriteEntry& write, TidWord new_word) {
  const std::string_view value = write.remove ? std::string_view() : write.value;
  if (write.is_part()) {
    overwrite_part(write);
  } else {
    record::store_value(*write.record, write.key, value, new_word, write.content);
  }
  base::sync_point("install.copied");
  base::debug_invariant("I4", [&] { return record::is_locked(write.record->tid(std::memory_order_relaxed)); });
  write.record->store_tid(new_word);
}

/// Makes the index lead to the new record instead of the locked one. The locked one stays as the old version if
/// `keep_old`, and is unhooked otherwise.
void replace(WriteEntry& write, WorkerState& worker, TidWord old, TidWord new_word, bool keep_old) {
  Record& from = *write.record;
  Record& to = *write.replacement;
  // TicToc's rts, or the lock of two-phase locking.
  const std::uint64_t above_size = base::load_word(&from.size_word) & ~record::kSizeMask;
  base::store_word(&to.size_word, above_size | (write.remove ? 0 : write.value.size()));
  if (!write.remove) base::copy_to_shared(to.value_words(), write.value.data(), write.value.size());
  to.set_previous(keep_old ? &from : from.previous());
  to.store_tid(new_word);
  const bool replaced = write.index->replace(write.key, record::value_of(&from), record::value_of(&to));
  base::always_check(replaced, "a locked latest record is the one its index leads to");
  // Readers that still hold the old record find it no longer latest and look the key up again.
  from.store_tid(record::superseded(old));
  if (keep_old) {
    register_version(worker, record::epoch_of(new_word), &from);
  } else {
    register_unhooked(worker, &from);
  }
}

/// Copies the record with its TID word `old` into the memory that prepare() took for the old version. False if the
/// value has grown beyond that memory, which happens only if the record is not locked.
bool keep_version(const WriteEntry& write, WorkerState& worker, TidWord old) {
  return copy_version(*write.record, write.key.size(), old, *write.version, worker);
}

/// Registers the garbage of a write that overwrote its record in place: the old version, and the record if it is absent
/// now.
void register_garbage(const WriteEntry& write, WorkerState& worker, TidWord new_word) {
  const epoch::Epoch epoch = record::epoch_of(new_word);
  if (write.version != nullptr) register_version(worker, epoch, write.version);
  if (write.remove) register_absent(worker, epoch, write.record, write.index, new_word, write.key);
}

/// Checks what must hold before a write becomes visible.
void check_install(const WriteEntry& write, const WorkerState& worker, TidWord new_word, epoch::Epoch period) {
  const Record& record = *write.record;
  base::debug_invariant("I1", [&] { return record::tid_of(new_word) > record::tid_of(record.tid()); });
  base::debug_invariant("I2", [&] { return record::is_locked(record.tid()) && record::is_latest(record.tid()); });
  if (write.replacement != nullptr) return;
  base::debug_invariant("I3", [&] { return fits_in_place(worker, write); });
  base::debug_invariant("I16",
                        [&] { return write.version != nullptr || !snapshots_may_need(worker, record.tid(), period); });
}

}  // namespace

void install(WriteEntry& write, WorkerState& worker, TidWord tid, epoch::Epoch period) {
  const TidWord old = record::unlocked(write.record->tid(std::memory_order_relaxed));
  const TidWord new_word = installed_word(write, old, tid);
  check_install(write, worker, new_word, period);
  if (write.replacement != nullptr) {
    replace(write, worker, old, new_word, snapshots_may_need(worker, old, period));
    if (write.remove)
      register_absent(worker, record::epoch_of(tid), write.replacement, write.index, new_word, write.key);
    return;
  }
  if (write.version != nullptr) {
    base::always_check(keep_version(write, worker, old), "a locked record keeps its size");
    // Snapshot readers reach the copy only through this release store; it never changes again.
    write.record->set_previous(write.version);
  }
  overwrite(write, new_word);
  register_garbage(write, worker, new_word);
}

bool prepare(WriteEntry& write, WorkerState& worker, epoch::Epoch period) {
  const bool in_place = worker.shared.settings.overwrite_in_place;
  const TidWord old = write.record->tid(std::memory_order_relaxed);
  const bool may_stay = fits_in_place(worker, write) && (in_place || record::is_absent(old));
  const bool wastes = wastes_block(worker, write);
  if (!may_stay || wastes) [[unlikely]] {
    // A small block for a large one makes room, as a removal does.
    const memory::Urgency needed = wastes ? memory::Urgency::kUrgent : urgency(write);
    write.replacement = allocate_record(worker, write.remove ? 0 : write.value.size(), needed);
    if (write.replacement != nullptr || !may_stay) return write.replacement != nullptr;
  }
  return !snapshots_may_need(worker, old, period) || prepare_version(write, worker);
}

void unprepare(WriteEntry& write, WorkerState& worker) {
  for (Record** taken : {&write.version, &write.replacement}) {
    if (*taken != nullptr) worker.slabs.free(memory::SlabKind::kRecord, *taken);
    *taken = nullptr;
  }
}

bool prepare_in_place(WriteEntry& write, WorkerState& worker, epoch::Epoch period, TidWord word) {
  if (!prepare(write, worker, period) || write.replacement != nullptr) return false;
  return write.version == nullptr || keep_version(write, worker, word);
}

void installed_in_region(const WriteEntry& write, WorkerState& worker, TidWord old, TidWord tid) {
  register_garbage(write, worker, installed_word(write, old, tid));
}

}  // namespace granary::cc
