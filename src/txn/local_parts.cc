// Reads and writes parts of values. Where the protocol allows it, a part of a local record is read or written
// without the rest of the value. The transaction relies on the record's version in both cases. So a part that is
// written fits into the value that is there when the transaction commits.

#include <algorithm>
#include <cstring>

#include "src/base/test_hooks.h"
#include "src/cc/holder_liveness.h"
#include "src/cc/protocols.h"
#include "src/txn/execution.h"
#include "src/txn/local_access.h"

namespace granary::txn {

using cc::Record;
using cc::WriteEntry;
using record::ReadState;

bool LocalAccess::reads_parts(const TableCore& table) const {
  return worker_.shared().settings.reads_parts && !table.is_shared() && table.sealed_from() == kNotSealed;
}

/// A part can be written only if the read of the record holds when the transaction commits, which isolation levels
/// below serializable do not promise.
bool LocalAccess::writes_parts(const TableCore& table) const {
  return worker_.shared().settings.writes_parts && reads_parts(table) && access_.isolation == Isolation::kSerializable;
}

GetResult LocalAccess::read_part(TableCore& table, Record* record, const MultiGet& get) {
  if (reads_parts(table)) return read_part(table, get.key, record, get.part_from, get.buffer);
  std::string whole;
  const Outcome got = read_whole(table, get.key, record, whole);
  return got == Outcome::kOk ? copy_part_out(whole, get.part_from, get.buffer) : GetResult{got, 0};
}

GetResult LocalAccess::read_part(TableCore& table, std::string_view key, Record* record, std::size_t from,
                                 std::span<char> buffer) {
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    if (record == nullptr) return {Outcome::kNotFound, 0};
    if (WriteEntry* const own = access_.writes.find(record)) [[unlikely]] {
      if (const Outcome whole = make_whole(*own); whole != Outcome::kOk) return {whole, 0};
      return own->remove ? GetResult{Outcome::kNotFound, 0} : copy_part_out(own->value, from, buffer);
    }
    record::TidWord rts = 0;
    const record::StableRead seen = cc::read_part(*record, from, buffer, worker_.state(), rts);
    if (seen.state == ReadState::kReplaced) [[unlikely]] {
      record = find_again(table, key);
      continue;
    }
    if (seen.state == ReadState::kBusy) [[unlikely]]
      break;
    const Outcome noted = note_read(record, seen.tid, rts);
    if (noted != Outcome::kOk) [[unlikely]]
      return {noted, 0};
    if (seen.state == ReadState::kMissing) return {Outcome::kNotFound, 0};
    return {Outcome::kOk, part_bytes(from, buffer.size(), seen.size)};
  }
  return {doom_busy(record), 0};
}

/// A transaction may write several parts of one value. The pending part grows until it contains the new bytes, too, so
/// that it stays one part.
Outcome LocalAccess::write_own_part(WriteEntry& own, std::size_t from, std::string_view bytes) {
  if (own.remove) return Outcome::kNotFound;
  if (!part_fits(from, bytes.size(), own.is_part() ? own.whole_bytes : own.value.size()))
    return Outcome::kPartBeyondValue;
  if (bytes.empty()) return Outcome::kOk;
  if (own.is_part()) {
    const std::size_t end = own.part_from + own.value.size();
    const std::size_t first = std::min<std::size_t>(own.part_from, from), last = std::max(end, from + bytes.size());
    if (const Outcome grown = widen(own, first, last); grown != Outcome::kOk) return grown;
  }
  const std::size_t begin = own.is_part() ? own.part_from : 0;
  std::memcpy(const_cast<char*>(own.value.data()) + (from - begin), bytes.data(),
              bytes.size());  // this transaction's arena
  return Outcome::kOk;
}

/// Reads the record again and notes this read, too. If it has another version than the one that the part was written
/// to, one of the two reads fails at validation.
Outcome LocalAccess::widen(WriteEntry& own, std::size_t from, std::size_t to) {
  if (to - from == own.value.size()) return Outcome::kOk;
  char* const room = arena_.allocate(to - from);
  record::TidWord rts = 0;
  const record::StableRead seen = cc::read_part(*own.record, from, {room, to - from}, worker_.state(), rts);
  if (seen.state == ReadState::kBusy) [[unlikely]]
    return transaction_.doom_with(AbortReason::kRecordBusy);
  if (seen.state != ReadState::kValue || seen.size != own.whole_bytes)
    return transaction_.doom_with(AbortReason::kReadChanged);
  if (const Outcome noted = note_read(own.record, seen.tid, rts); noted != Outcome::kOk) return noted;
  std::memcpy(room + (own.part_from - from), own.value.data(), own.value.size());
  own.value = {room, to - from};
  own.part_from = static_cast<std::uint32_t>(from);
  if (own.value.size() == own.whole_bytes) own.whole_bytes = 0;  // it is a write of the whole value now
  return Outcome::kOk;
}

Outcome LocalAccess::write_part(TableCore& table, std::string_view key, std::size_t from, std::string_view bytes) {
  if (access_.writes.size() >= kMaxAccesses) [[unlikely]]
    return Outcome::kTooManyAccesses;
  Record* record = look_up(table, key);
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    if (record == nullptr) return Outcome::kNotFound;
    if (WriteEntry* const own = access_.writes.find(record)) return write_own_part(*own, from, bytes);
    record::TidWord rts = 0;
    const record::StableRead seen = cc::read_part(*record, 0, {}, worker_.state(), rts);
    if (seen.state == ReadState::kReplaced) [[unlikely]] {
      record = find_again(table, key);
      continue;
    }
    if (seen.state == ReadState::kBusy) [[unlikely]]
      break;
    const Outcome noted = base::injected("part-without-read") ? Outcome::kOk : note_read(record, seen.tid, rts);
    if (noted != Outcome::kOk) [[unlikely]]
      return noted;
    if (seen.state == ReadState::kMissing) return Outcome::kNotFound;
    if (!part_fits(from, bytes.size(), seen.size)) return Outcome::kPartBeyondValue;
    if (bytes.empty()) return Outcome::kOk;
    access_.writes.add({.record = record,
                        .index = &table.index(),
                        .table = table.id(),
                        .key = arena_.copy(key),
                        .value = arena_.copy(bytes),
                        .whole_bytes = bytes.size() == seen.size ? 0 : seen.size,  // as in widen()
                        .part_from = static_cast<std::uint32_t>(from)});
    return Outcome::kOk;
  }
  return doom_busy(record);
}

}  // namespace granary::txn
