#include "recovery/checkpoint/load_record.h"

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/garbage.h"
#include "src/cc/records.h"

namespace granary::recovery::checkpoint {
namespace {

using record::Record;

/// Puts `made` in the place of the locked record. In a shared table only its content, as a shared record never moves
/// (I3).
void take_place(txn::TableCore& table, std::string_view key, std::string_view value, Record* there, Record* made,
                cc::WorkerState& worker) {
  base::debug_invariant("I1", [&] { return record::tid_of(made->tid()) > record::tid_of(there->tid()); });
  base::debug_invariant("I2", [&] { return record::is_locked(there->tid()); });
  if (table.is_shared()) {
    cc::fill_record(*there, key, value, made->tid());
    cc::free_record(worker, made);
    return;
  }
  const bool replaced = table.index().replace(key, value_of(there), value_of(made));
  base::always_check(replaced, "a locked latest record is the one its index leads to");
  there->store_tid(record::superseded(there->tid()));
  cc::register_unhooked(worker, there);
}

bool newer(record::TidWord tid, record::TidWord there) {
  return record::tid_of(there) < tid || base::injected("replay-any-order");
}

}  // namespace

Loaded load_record(txn::TableCore& table, record::TidWord tid, std::string_view key, std::string_view value,
                   cc::WorkerState& worker, kvstore::ordered::LeafHint* hint) {
  Record* const made = table.make_record(worker, key, value.size());
  if (made == nullptr) return Loaded::kOutOfMemory;
  cc::fill_record(*made, key, value, record::version_word(tid, /*removed=*/false));
  for (std::uint32_t turn = 0;; ++turn) {
    const cc::Inserted at = table.index().insert_if_absent(key, value_of(made), worker.nodes, hint);
    if (at.what == cc::InsertedWhat::kInserted) [[likely]]
      return Loaded::kLoaded;
    if (at.what == cc::InsertedWhat::kOutOfMemory) {
      cc::free_record(worker, made);
      return Loaded::kOutOfMemory;
    }
    auto* const there = reinterpret_cast<Record*>(at.present);
    const record::TidWord word = there->tid();
    if (!record::is_locked(word) && record::is_latest(word)) {
      if (!newer(tid, word)) {
        cc::free_record(worker, made);  // no other thread has seen it
        return Loaded::kOlder;
      }
      base::sync_point("load_record.present");
      if (there->try_lock(word)) {
        take_place(table, key, value, there, made, worker);
        return Loaded::kLoaded;
      }
    }
    // Another thread of the recovery has locked it, for the time of a copy, or has just put another record in its
    // place.
    worker.shared.waiter.pause(turn);
  }
}

}  // namespace granary::recovery::checkpoint
