// Writes of a transaction (Silo 4.5): buffered until commit; a key that is missing gets a placeholder record now.

#include <cstring>

#include "src/cc/held_records.h"
#include "src/cc/records.h"
#include "src/record/shared_read.h"
#include "src/txn/context.h"

namespace granary::txn {

using cc::Record;
using cc::WriteEntry;
using kvstore::ordered::InsertResult;
using kvstore::ordered::NodeChange;
using record::ReadState;

Outcome Context::write(std::uint64_t serial, TableCore* table, std::string_view key, std::string_view value,
                       WriteMode mode) {
  const Outcome admitted = admit(serial, table, key);
  if (admitted != Outcome::kOk) [[unlikely]]
    return admitted;
  if (value.size() > table->max_value_bytes()) [[unlikely]]
    return Outcome::kValueTooLarge;
  const Home home = home_elsewhere(*table, key);
  if (!table->indexes().empty()) return write_indexed(home, *table, key, value, mode);
  return write_at(home, *table, key, value, mode);
}

void Context::set_value(WriteEntry& entry, std::string_view value, bool remove) {
  entry.remove = remove;
  if (remove) return;
  if (!entry.value.empty() && value.size() <= entry.value.size()) {
    char* const room = const_cast<char*>(entry.value.data());  // this transaction's arena
    std::memmove(room, value.data(), value.size());
    entry.value = {room, value.size()};
  } else {
    entry.value = arena_.copy(value);
  }
}

Outcome Context::write_own(WriteEntry& own, std::string_view value, WriteMode mode) {
  if (mode == WriteMode::kInsert && !own.remove) return Outcome::kAlreadyExists;
  if ((mode == WriteMode::kUpdate || mode == WriteMode::kRemove) && own.remove) return Outcome::kNotFound;
  set_value(own, value, mode == WriteMode::kRemove);
  own.sum_content();
  return Outcome::kOk;
}

/// Brings the node set in step with an insert of our own (Silo 4.6): a leaf seen before it changes only its version; a leaf
/// that someone else had changed meanwhile is a phantom; keys that moved to a new leaf are watched there, too.
Outcome Context::note_own_insert(const InsertResult& inserted) {
  if (access_.nodes.empty()) return Outcome::kOk;
  for (std::size_t i = 0; i < inserted.changes.size(); ++i) {
    const NodeChange& change = inserted.changes[i];
    if (change.before != 0) {
      for (cc::NodeEntry& node : access_.nodes) {
        if (node.leaf != change.leaf) continue;
        if (node.version != change.before) return doom_with(AbortReason::kNodeChanged);
        node.version = change.after;
      }
      continue;
    }
    const std::size_t count = access_.nodes.size();
    for (std::size_t n = 0; n < count; ++n) {
      if (access_.nodes[n].leaf != change.split_from) continue;
      access_.nodes.push_back({change.leaf, change.after});
      break;
    }
  }
  return Outcome::kOk;
}

/// Puts a placeholder into the tree and a write on it into the write set. If the key has appeared, `present` is its record
/// and the outcome kAlreadyExists. Where there is no memory, the worker's own garbage may be what fills it.
Outcome Context::write_new(TableCore& table, std::string_view key, std::string_view value, Record** present) {
  cc::WorkerState& state = worker_.state();
  for (bool made_room = false;; made_room = true) {
    if (Record* const record = table.make_record(state, key, value.size()); record != nullptr) [[likely]] {
      const InsertResult result =
          table.index().insert_if_absent(key, record::value_of(record), state.nodes, insert_hints_.of(table.id()));
      if (result.what == InsertResult::What::kInserted) [[likely]] {
        access_.writes
            .add({.record = record,
                  .index = &table.index(),
                  .table = table.id(),
                  .key = arena_.copy(key),
                  .value = arena_.copy(value),
                  .remove = false,
                  .placeholder = true})
            .sum_content();
        lookups_.place(table.index(), key) = record;
        return note_own_insert(result);
      }
      cc::free_record(state, record);
      if (result.what == InsertResult::What::kPresent) {
        *present = record::record_of(result.present);
        return Outcome::kAlreadyExists;
      }
    }
    if (made_room || !worker_.make_room()) return doom_with(AbortReason::kOutOfMemory);
  }
}

Outcome Context::write_record(TableCore& table, std::string_view key, std::string_view value, WriteMode mode) {
  cc::Index& index = table.index();
  if (access_.writes.size() >= kMaxAccesses) [[unlikely]]
    return Outcome::kTooManyAccesses;
  Record* record = lookups_.place(index, key);
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    if (record == nullptr) {
      const bool must_exist = mode == WriteMode::kUpdate || mode == WriteMode::kRemove;
      if (mode != WriteMode::kInsert) {
        const kvstore::ordered::Lookup at = index.find(key);
        if (at.value == 0 && must_exist) {
          const Outcome noted = note_node(at.leaf, at.version);
          return noted == Outcome::kOk ? Outcome::kNotFound : noted;
        }
        record = record::record_of(at.value);
      }
      if (record == nullptr) {
        const Outcome placed = write_new(table, key, value, &record);
        // Who relies on the key's absence (an insert, or whoever may have looked for the key before) must notice another
        // transaction that commits to the placeholder first: the leaf's version will not tell.
        if (placed == Outcome::kOk && (mode == WriteMode::kInsert || !access_.nodes.empty())) {
          return note_read(access_.writes.entries().back().record, record::kUnborn);
        }
        if (placed != Outcome::kAlreadyExists) return placed;
      }
      lookups_.place(index, key) = record;
    }
    if (WriteEntry* own = access_.writes.find(record)) return write_own(*own, value, mode);
    if (mode != WriteMode::kPut) {
      const record::StableRead seen = record::read_record_tid(*record, *worker_.state().waiter);
      if (seen.state == ReadState::kBusy) [[unlikely]]
        break;
      if (seen.state == ReadState::kReplaced) [[unlikely]] {
        record = nullptr;  // the key has another record by now, or none
        continue;
      }
      const Outcome noted = note_read(record, seen.tid);
      if (noted != Outcome::kOk) [[unlikely]]
        return noted;
      const bool there = seen.state == ReadState::kValue;
      if (mode == WriteMode::kInsert && there) return Outcome::kAlreadyExists;
      if (mode != WriteMode::kInsert && !there) return Outcome::kNotFound;
    }
    const bool remove = mode == WriteMode::kRemove;
    access_.writes
        .add({.record = record,
              .index = &index,
              .table = table.id(),
              .key = arena_.copy(key),
              .value = remove ? std::string_view{} : arena_.copy(value),
              .remove = remove,
              .placeholder = false})
        .sum_content();
    return Outcome::kOk;
  }
  return doom_with(cc::why_busy(record, worker_.shared(), AbortReason::kRecordBusy));
}

}  // namespace granary::txn
