// Reads of a transaction (Silo 4.5): look the key up, copy a stable version, remember what was seen.

#include "src/cc/held_records.h"
#include "src/record/shared_read.h"
#include "src/txn/context.h"
#include "src/txn/multi_get.h"

namespace granary::txn {

using cc::Record;
using record::ReadState;

Outcome Context::note_read(Record* record, cc::TidWord tid) {
  if (access_.reads.size() >= kMaxAccesses) [[unlikely]]
    return Outcome::kTooManyAccesses;
  access_.reads.push_back({record, tid});
  return Outcome::kOk;
}

Outcome Context::note_node(const cc::Leaf* leaf, cc::Version version) {
  if (!access_.nodes.empty() && access_.nodes.back().leaf == leaf && access_.nodes.back().version == version)
    return Outcome::kOk;
  if (access_.nodes.size() >= kMaxAccesses) [[unlikely]]
    return Outcome::kTooManyAccesses;
  access_.nodes.push_back({leaf, version});
  return Outcome::kOk;
}

/// The record the tree has for the key; if none, the miss is noted in the node set (Silo 4.6).
Record* Context::find(TableCore& table, std::string_view key) {
  const kvstore::ordered::Lookup at = table.index().find(key);
  if (at.value == 0) [[unlikely]]
    access_.nodes.push_back({at.leaf, at.version});
  return record::record_of(at.value);
}

Record* Context::look_up(TableCore& table, std::string_view key) {
  Record*& remembered = lookups_.place(table.index(), key);
  if (remembered == nullptr) remembered = find(table, key);
  return remembered;
}

GetResult Context::read(TableCore& table, std::string_view key, Record* record, std::span<char> buffer) {
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    if (record == nullptr) return {Outcome::kNotFound, 0};
    if (const cc::WriteEntry* own = access_.writes.find(record)) [[unlikely]]
      return own->remove ? GetResult{Outcome::kNotFound, 0} : copy_out(own->value, buffer);
    const record::StableRead seen =
        record::read_record(*record, key.size(), buffer.data(), buffer.size(), *worker_.state().waiter);
    if (seen.state == ReadState::kReplaced) [[unlikely]] {
      record = lookups_.place(table.index(), key) = find(table, key);
      continue;
    }
    if (seen.state == ReadState::kBusy) [[unlikely]]
      break;
    const Outcome noted = note_read(record, seen.tid);
    if (noted != Outcome::kOk) [[unlikely]]
      return {noted, 0};
    if (seen.state == ReadState::kMissing) return {Outcome::kNotFound, 0};
    return {seen.state == ReadState::kValue ? Outcome::kOk : Outcome::kBufferTooSmall, seen.size};
  }
  return {doom_with(cc::why_busy(record, worker_.shared(), AbortReason::kRecordBusy)), 0};
}

Outcome Context::read_string(std::optional<std::uint16_t> home, TableCore& table, std::string_view key,
                             std::string& value) {
  if (home) [[unlikely]] {
    std::string_view found;
    const Outcome outcome = get_elsewhere(table, *home, key, found);
    value.assign(found);
    return outcome;
  }
  constexpr std::size_t kFirstTry = 256;
  if (value.capacity() < kFirstTry) value.reserve(kFirstTry);
  value.resize(value.capacity());
  Record* const record = look_up(table, key);
  for (;;) {
    const GetResult got = read(table, key, record, value);
    if (got.outcome == Outcome::kBufferTooSmall) {
      value.resize(got.size);
      continue;
    }
    value.resize(got.outcome == Outcome::kOk ? got.size : 0);
    return got.outcome;
  }
}

GetResult Context::get(std::uint64_t serial, TableCore* table, std::string_view key, std::span<char> buffer) {
  const Outcome admitted = admit(serial, table, key);
  if (admitted != Outcome::kOk) [[unlikely]]
    return {admitted, 0};
  if (const auto home = home_elsewhere(*table, key)) [[unlikely]]
    return read_elsewhere(*table, *home, key, buffer);
  return read(*table, key, look_up(*table, key), buffer);
}

Outcome Context::get(std::uint64_t serial, TableCore* table, std::string_view key, std::string& value) {
  const Outcome admitted = admit(serial, table, key);
  if (admitted != Outcome::kOk) [[unlikely]]
    return admitted;
  return read_string(home_elsewhere(*table, key), *table, key, value);
}

Outcome Context::multi_get(std::uint64_t serial, std::span<MultiGet> gets) {
  GetsElsewhere<RemoteGet> elsewhere;
  const Outcome here = take_apart(
      gets, elsewhere, [&](const TableCore* table, std::string_view key) { return admit(serial, table, key); },
      [this](const LocalGets& batch) { read_together(batch); });
  if (here != Outcome::kOk) [[unlikely]]
    return here;
  if (!elsewhere.gets.empty() && state_ == State::kOpen) [[unlikely]]
    return multi_get_elsewhere(elsewhere);
  return admit(serial);
}

/// First all searches, then all reads: the misses on the records of one table overlap with the searches in the next.
void Context::read_together(const LocalGets& gets) {
  LocalGets::Found found;
  gets.find(found);
  for (std::size_t i = 0; i < gets.size() && state_ == State::kOpen; ++i) {
    MultiGet& get = gets[i];
    TableCore& table = *get.table.core();
    Record* const record = record::record_of(found[i].value);
    if (record == nullptr) {
      access_.nodes.push_back({found[i].leaf, found[i].version});
    } else {
      lookups_.place(table.index(), get.key) = record;
    }
    get.result = read(table, get.key, record, get.buffer);
  }
}

void Context::prefetch(std::uint64_t serial, TableCore* table, std::string_view key) {
  if (admit(serial, table, key) != Outcome::kOk || home_elsewhere(*table, key)) return;
  // The descent itself brings the nodes closer, and the cache spares the coming operation a second one.
  const kvstore::ordered::Lookup at = table->index().find(key);
  if (at.value == 0) return;
  lookups_.place(table->index(), key) = record::record_of(at.value);
  table->prefetch(record::record_of(at.value));
}

}  // namespace granary::txn
