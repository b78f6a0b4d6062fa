#include "recovery/checkpoint/load_record.h"

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/cc/garbage.h"

namespace granary::recovery::checkpoint {
namespace {

using kvstore::ordered::InsertResult;
using record::Record;

kvstore::ordered::Value value_of(Record* record) { return reinterpret_cast<kvstore::ordered::Value>(record); }

Record* make_record(record::TidWord tid, std::string_view value, cc::WorkerState& worker) {
  auto* const made =
      static_cast<Record*>(worker.slabs.allocate(memory::SlabKind::kRecord, record::record_bytes(value.size())));
  if (made == nullptr) return nullptr;
  base::store_word(&made->size_word, value.size());
  base::copy_to_shared(made->value_words(), value.data(), value.size());
  made->set_previous(nullptr);
  made->store_tid(tid | record::kLatest);
  return made;
}

bool newer(record::TidWord tid, record::TidWord there) {
  return record::tid_of(there) < tid || base::injected(base::Bug::kReplayAnyOrder);
}

}  // namespace

Loaded load_record(txn::TableCore& table, record::TidWord tid, std::string_view key, std::string_view value,
                   cc::WorkerState& worker, kvstore::ordered::LeafHint* hint) {
  Record* const made = make_record(tid, value, worker);
  if (made == nullptr) return Loaded::kOutOfMemory;
  for (std::uint32_t turn = 0;; ++turn) {
    const InsertResult at = table.index().insert_if_absent(key, value_of(made), worker.nodes, hint);
    if (at.what == InsertResult::What::kInserted) [[likely]]
      return Loaded::kLoaded;
    if (at.what == InsertResult::What::kOutOfMemory) {
      worker.slabs.free(memory::SlabKind::kRecord, made);
      return Loaded::kOutOfMemory;
    }
    auto* const there = reinterpret_cast<Record*>(at.present);
    const record::TidWord word = there->tid();
    if (!record::is_locked(word) && record::is_latest(word)) {
      if (!newer(tid, word)) {
        worker.slabs.free(memory::SlabKind::kRecord, made);  // nobody ever saw it
        return Loaded::kOlder;
      }
      base::sync_point("load_record.present");
      if (there->try_lock(word)) {
        const bool replaced = table.index().replace(key, at.present, value_of(made));
        base::always_check(replaced, "a locked latest record is the one its index leads to");
        there->store_tid(word & ~record::kLatest);
        cc::register_unhooked(worker, there);
        return Loaded::kLoaded;
      }
    }
    // Another thread of the recovery has it, for the time of a copy; or has just put another record in its place.
    worker.shared.waiter.pause(turn);
  }
}

}  // namespace granary::recovery::checkpoint
