// Writes keys of this node for a transaction (Silo 4.5). A write is buffered until the commit. A key that is missing
// gets a placeholder record at once, so that the commit finds a record to lock.

#include <algorithm>
#include <cstring>
#include <new>

#include "src/cc/holder_liveness.h"
#include "src/cc/protocols.h"
#include "src/cc/records.h"
#include "src/txn/local_access.h"
#include "src/txn/look_for.h"

namespace granary::txn {

using cc::Record;
using cc::WriteEntry;
using record::ReadState;

void LocalAccess::set_value(WriteEntry& entry, std::string_view value, bool remove) {
  entry.remove = remove;
  entry.whole_bytes = 0;
  if (remove) return;
  if (!entry.value.empty() && value.size() <= entry.value.size()) {
    char* const room = const_cast<char*>(entry.value.data());  // this transaction's arena
    std::memmove(room, value.data(), value.size());
    entry.value = {room, value.size()};
  } else {
    entry.value = arena_.copy(value);
  }
}

Outcome LocalAccess::write_own(WriteEntry& own, std::string_view value, const WriteRule& rule) {
  if (const Outcome outcome = rule.outcome(!own.remove); outcome != Outcome::kOk) return outcome;
  set_value(own, value, rule.removes);
  own.sum_content();
  return Outcome::kOk;
}

/// Puts a placeholder into the index, and a write to it into the write set. If the key has appeared meanwhile,
/// `present` is its record and the outcome kAlreadyExists. If there is no memory, it frees garbage of the worker and
/// tries once more. What needs memory of the system for the write comes before the insert, since a placeholder without
/// its write would never be collected.
Outcome LocalAccess::write_new(TableCore& table, std::string_view key, std::string_view value, Record** present) {
  cc::WorkerState& state = worker_.state();
  access_.writes.reserve_one();
  WriteEntry entry{.index = &table.index(),
                   .table = table.id(),
                   .key = arena_.copy(key),
                   .value = arena_.copy(value),
                   .placeholder = true};
  auto* const hint = insert_hints_.of(table.id());
  for (bool made_room = false;; made_room = true) {
    if (Record* const record = table.make_record(state, key, value.size()); record != nullptr) [[likely]] {
      bool phantom = false, without_memory = false;
      const cc::IndexTime time(state.timed_work, state.shared.meter);
      const auto note_change = [&](const auto& change) {
        try {
          phantom |= !access_.nodes.note_change(change);
        } catch (const std::bad_alloc&) {
          without_memory = true;
        }
      };
      const cc::Inserted result =
          table.index().insert_if_absent(key, record::value_of(record), state.nodes, hint, note_change);
      if (result.what == cc::InsertedWhat::kInserted) [[likely]] {
        entry.record = record;
        access_.writes.add(entry).sum_content();
        lookups_.remembered(table.index(), key) = record;
        if (without_memory) [[unlikely]]
          return transaction_.doom_with(AbortReason::kOutOfMemory);
        return phantom ? transaction_.doom_with(AbortReason::kNodeChanged) : Outcome::kOk;
      }
      cc::free_record(state, record);
      if (result.what == cc::InsertedWhat::kPresent) {
        *present = record::record_of(result.present);
        return Outcome::kAlreadyExists;
      }
    }
    if (made_room || !worker_.make_room()) return transaction_.doom_with(AbortReason::kOutOfMemory);
  }
}

/// Finds the record of a key for which the transaction remembers none. If the key has no record, the rule refuses the
/// write, or a placeholder is put into the index together with the write. Always inlined: it is a part of write().
[[gnu::always_inline]] inline LocalAccess::RecordToWrite LocalAccess::find_or_write_new(TableCore& table,
                                                                                        std::string_view key,
                                                                                        std::string_view value,
                                                                                        const WriteRule& rule) {
  Record* record = nullptr;
  // An insert does not search the index first: where a record is in the way of its placeholder, it finds that record.
  const bool expects_none = rule.if_there != Outcome::kOk;
  if (!expects_none) {
    const cc::IndexTime time(worker_.state().timed_work, worker_.shared().meter);
    const cc::Lookup at = look_for(worker_, table.index(), key);
    if (at.value == 0 && rule.if_missing != Outcome::kOk) {
      const Outcome noted = note_node(table, at.place, at.version);
      return {.settled = noted == Outcome::kOk ? rule.if_missing : noted};
    }
    record = record::record_of(at.value);
  }
  if (record == nullptr) {
    const Outcome placed = write_new(table, key, value, &record);
    // An insert relies on the key's absence, and so does a transaction that may have missed the key before. They note
    // the placeholder that they have made as a read, since another transaction may commit to it first, which the leaf's
    // version does not show. A put that meets somebody else's placeholder notes nothing: that one has changed the
    // leaf's version since the miss.
    if (placed == Outcome::kOk && (expects_none || !access_.nodes.empty())) {
      return {.settled = note_read(access_.writes.entries().back().record, record::kUnborn)};
    }
    if (placed != Outcome::kAlreadyExists) return {.settled = placed};
  }
  lookups_.remembered(table.index(), key) = record;
  return {.record = record};
}

Outcome LocalAccess::write(TableCore& table, std::string_view key, std::string_view value, const WriteRule& rule) {
  const htm::OwnStores stores(worker_.state().in_open_region == &access_ ? worker_.state().open_region.get() : nullptr);
  // Both sets must have a place left, since a write stays in its set even if the read that it relies on finds none.
  if (std::max(access_.writes.size(), access_.reads.size()) >= kMaxAccesses) [[unlikely]]
    return Outcome::kTooManyAccesses;
  Record* record = lookups_.remembered(table.index(), key);
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    if (record == nullptr) {
      const RecordToWrite found = find_or_write_new(table, key, value, rule);
      if (found.record == nullptr) return found.settled;
      record = found.record;
    }
    if (WriteEntry* own = access_.writes.find(record)) return write_own(*own, value, rule);
    if (rule.looks()) {
      cc::TidWord rts = 0;
      const record::StableRead seen = cc::look(*record, worker_.state(), access_, rts);
      if (seen.state == ReadState::kBusy) [[unlikely]]
        break;
      if (seen.state == ReadState::kReplaced) [[unlikely]] {
        record = nullptr;  // the key has another record by now, or none
        continue;
      }
      const Outcome noted = note_read(record, seen.tid, rts);
      if (noted != Outcome::kOk) [[unlikely]]
        return noted;
      const Outcome outcome = rule.outcome(seen.state == ReadState::kValue);
      if (outcome != Outcome::kOk) return outcome;
    }
    access_.writes
        .add({.record = record,
              .index = &table.index(),
              .table = table.id(),
              .key = arena_.copy(key),
              .value = rule.removes ? std::string_view{} : arena_.copy(value),
              .remove = rule.removes,
              .placeholder = false})
        .sum_content();
    return Outcome::kOk;
  }
  return doom_busy(record);
}

/// A put does not look at the record, so this is all that is left of write() once the record is known.
Outcome LocalAccess::put(TableCore& table, std::string_view key, std::string_view value, Record* record) {
  const htm::OwnStores stores(worker_.state().in_open_region == &access_ ? worker_.state().open_region.get() : nullptr);
  if (std::max(access_.writes.size(), access_.reads.size()) >= kMaxAccesses) return Outcome::kTooManyAccesses;
  if (WriteEntry* own = access_.writes.find(record)) return write_own(*own, value, kPut);
  access_.writes
      .add({.record = record,
            .index = &table.index(),
            .table = table.id(),
            .key = arena_.copy(key),
            .value = arena_.copy(value),
            .placeholder = false})
      .sum_content();
  return Outcome::kOk;
}

}  // namespace granary::txn
