#include "src/cc/garbage.h"

#include <algorithm>
#include <new>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/garbage_lists.h"
#include "src/cc/records.h"
#include "src/record/shared_change.h"
#include "src/record/shared_lock.h"
#include "src/record/shared_record.h"

namespace granary::cc {
namespace {

/// Adds an item to one of the worker's lists of garbage, and counts it for Statistics::garbage_items.
template <typename Garbage>
void add_garbage(WorkerState& worker, epoch::LimboList<Garbage>& list, epoch::Epoch epoch, const Garbage& item) {
  list.add(epoch, item);
  bump(worker.garbage_items);
}

std::size_t block_bytes(WorkerState& worker, const Record* record) { return worker.shared.slabs.capacity(record); }

/// Registers an absent record once more, as of now.
void keep_for_later(WorkerState& worker, const AbsentRecord& absent) {
  auto& list = absent.tid == record::kUnborn ? worker.garbage.unborn : worker.garbage.absents;
  add_garbage(worker, list, worker.shared.epochs.current(), absent);
}

/// Returns the record of the key, or nullptr if there is none, or none that other nodes reach.
record::SharedRecord* find_shared(Index& index, std::string_view key) {
  Record* const record = record::record_of(index.find(key).value);
  return record != nullptr && record::is_shared(record) ? &record::shared_of(*record) : nullptr;
}

record::OwnerRule owner_rule(const DatabaseState& shared) {
  return shared.settings.stamps_reads ? record::OwnerRule::without_leases()
                                      : record::OwnerRule::with_leases(shared.time);
}

/// Makes one attempt to take the record's lock bit. False if its TID word is not `expected`, or another node holds it.
bool try_claim(const WorkerState& worker, Record& record, TidWord expected) {
  if (!record::is_shared(&record)) return record.try_lock(expected);
  const record::OwnerRule rule = owner_rule(worker.shared);
  return record::lock_as_owner(record::shared_of(record), expected, rule) == record::OwnerLock::kTaken;
}

/// Removes an absent record from its index, if it is still the record that was registered. It asks the index first: a
/// record that the index leads to cannot be freed while the caller's slot is entered. Any other record may be freed
/// already, so its TID must not be read.
void unhook(WorkerState& worker, const AbsentRecord& absent) {
  const auto found = absent.index->find(absent.key);
  if (found.value != record::value_of(absent.record)) return;
  Record* const record = absent.record;
  TidWord expected = absent.tid;
  if (base::injected("unhook-changed")) expected = record::unlocked(record->tid());
  // I3: acts only if the TID word is the one that was registered. Another TID means that the key was written since; the
  // next removal registers it anew. The same TID means that somebody holds the record, here or at another node, and may
  // give it back unchanged; then it is registered for later.
  if (!try_claim(worker, *record, expected)) {
    if (record::unlocked(record->tid()) == expected) keep_for_later(worker, absent);
    return;
  }
  base::debug_invariant("I3", [&] { return expected == absent.tid && record::is_absent(expected); });
  base::sync_point("gc.locked");
  if (!may_leave_index(*record, worker)) {
    record->unlock_unchanged();
    return keep_for_later(worker, absent);
  }
  // Transactions that still know the record find the latest bit cleared. Readers look the key up again, claims fail.
  record::end_life(*record, absent.key);
  absent.index->remove(absent.key, found.value, worker.nodes);
  base::debug_invariant(
      "I2", [&] { return record->tid(std::memory_order_relaxed) == record::locked(record::superseded(expected)); });
  record->store_tid(record::superseded(expected));
  register_unhooked(worker, record);
}

}  // namespace

void register_absent(WorkerState& worker, epoch::Epoch epoch, Record* record, Index* index, TidWord tid,
                     std::string_view key) {
  if (!worker.shared.settings.garbage_collection) return;
  add_garbage(worker, worker.garbage.absents, epoch, {record, index, tid, std::string(key)});
}

/// A snapshot goes through an absent record to the version that the removal superseded. An unborn record has no such
/// version, so a snapshot sees the same with and without it. The record is kept for a while to spare transactions that
/// are open now and have found it, here or by the owner's answer: they would abort without need. Transactions that find
/// it later may lose it, like any absent record, and try again. For the + 1 see NodeMemory::retire.
void register_unborn(WorkerState& worker, Record* record, Index* index, std::string_view key) {
  if (!worker.shared.settings.garbage_collection) return;
  add_garbage(worker, worker.garbage.unborn, worker.shared.epochs.current() + 1,
              {record, index, record::kUnborn, std::string(key)});
}

void register_removed_by_holder(WorkerState& worker, Index& index, std::string_view key, TidWord tid) {
  if (!record::is_absent(tid)) return;  // the message names a version that is no removal
  record::SharedRecord* const record = find_shared(index, key);
  if (record == nullptr || record::unlocked(record->head.tid()) != tid) return;
  register_absent(worker, record::epoch_of(tid), &record->head, &index, tid, key);
}

void register_version(WorkerState& worker, epoch::Epoch epoch, Record* version) {
  bump(worker.versions_created);
  bump(worker.version_bytes, static_cast<std::int64_t>(block_bytes(worker, version)));
  if (worker.shared.settings.garbage_collection) add_garbage(worker, worker.garbage.versions, epoch, version);
}

void register_unhooked(WorkerState& worker, Record* record) {
  if (!worker.shared.settings.garbage_collection) return;
  // NodeMemory::retire explains the + 1.
  add_garbage(worker, worker.garbage.unhooked, worker.shared.epochs.current() + 1, record);
}

void abandon(AccessSet& access, WorkerState& worker) noexcept {
  for (const WriteEntry& write : access.writes.entries()) {
    if (!write.placeholder) continue;
    try {
      register_unborn(worker, write.record, write.index, write.key);
    } catch (const std::bad_alloc&) {
      // The system has no memory to list it, so the placeholder stays in its index until the key is written.
    }
  }
}

std::size_t collect_garbage(WorkerState& worker, std::size_t budget) noexcept {
  const epoch::EpochManager& epochs = worker.shared.epochs;
  epoch::Epoch tree_safe = epochs.tree_reclamation();
  // Without snapshots no transaction reads the version that a removal superseded, so absent records need to wait for
  // open transactions only. unhook() itself is safe for concurrent readers, as the unhooked record is freed later.
  epoch::Epoch absent_safe = unhooked_up_to(worker.shared);
  epoch::Epoch version_safe = epochs.version_reclamation();
  if (base::injected("free-too-early")) tree_safe = absent_safe = version_safe = ~epoch::Epoch{0} - 1;

  base::debug_invariant("I17", [&] { return std::max({tree_safe, version_safe, absent_safe}) < epochs.current(); });
  std::size_t done = worker.garbage.versions.reclaim(version_safe, budget, [&](Record* version) {
    bump(worker.version_bytes, -static_cast<std::int64_t>(block_bytes(worker, version)));
    free_record(worker, version);
  });
  done += worker.garbage.unhooked.reclaim(tree_safe, budget, [&](Record* record) { free_record(worker, record); });
  done += worker.nodes.reclaim(budget);
  done +=
      worker.garbage.absents.reclaim(absent_safe, budget, [&](const AbsentRecord& absent) { unhook(worker, absent); });
  done += worker.garbage.unborn.reclaim(tree_safe, budget, [&](const AbsentRecord& unborn) { unhook(worker, unborn); });
  worker.garbage_items.store(worker.garbage.waiting() + worker.nodes.waiting(), std::memory_order_relaxed);
  return done;
}

}  // namespace granary::cc
