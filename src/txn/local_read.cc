// Reads for a transaction at this node (Silo 4.5): it looks the key up, copies a stable version of the record, and
// notes in the read set what it has seen.

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/holder_liveness.h"
#include "src/cc/protocols.h"
#include "src/cc/settings.h"
#include "src/txn/local_access.h"
#include "src/txn/look_for.h"
#include "src/txn/multi_get.h"

namespace granary::txn {

using cc::Record;
using record::ReadState;

Outcome LocalAccess::note_read(Record* record, record::TidWord tid, record::TidWord rts) {
  if (access_.reads.size() >= kMaxAccesses) [[unlikely]]
    return Outcome::kTooManyAccesses;
  access_.reads.emplace_back() = {record, tid, rts};
  return Outcome::kOk;
}

Outcome LocalAccess::doom_busy(const Record* record) {
  const AbortReason busy = access_.refused_by_own_worker ? AbortReason::kLockedByOwnWorker : AbortReason::kRecordBusy;
  return transaction_.doom_with(cc::abort_reason_if_busy(record, worker_.state(), busy));
}

Outcome LocalAccess::note_node(const TableCore& table, cc::IndexNode place, cc::Version version) {
  if (access_.nodes.is_last(place, version) || sealed(table)) return Outcome::kOk;
  if (access_.nodes.size() >= kMaxAccesses) [[unlikely]]
    return Outcome::kTooManyAccesses;
  note_place(table, place, version);
  return Outcome::kOk;
}

/// Returns the record that the index has for the key. If it has none, the miss is noted in the node set (Silo 4.6).
Record* LocalAccess::find(TableCore& table, std::string_view key) {
  const cc::IndexTime time(worker_.state().timed_work, worker_.shared().meter);
  const cc::Lookup at = look_for(worker_, table.index(), key);
  if (at.value == 0) [[unlikely]]
    note_place(table, at.place, at.version);
  return record::record_of(at.value);
}

/// The reference is still good when other transactions of the worker have run within find(): each has a lookup cache of
/// its own, and no other body uses this transaction (WorkerCore::may_use).
Record* LocalAccess::look_up(TableCore& table, std::string_view key) {
  Record*& remembered = lookups_.remembered(table.index(), key);
  if (remembered == nullptr) remembered = find(table, key);
  return remembered;
}

/// A transaction that finds the table sealed began when nobody wrote the table any more, so it has no writes of its own
/// there. A record may still be found locked for a moment: by garbage collection, which also removes absent records
/// from the index, or by another node that does not know of the seal yet.
GetResult LocalAccess::read_sealed(TableCore& table, std::string_view key, Record* record, std::span<char> buffer) {
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    if (record == nullptr) return {Outcome::kNotFound, 0};
    const record::StableRead seen =
        record::read_record(*record, key.size(), buffer.data(), buffer.size(), *worker_.state().waiter);
    if (seen.state == ReadState::kBusy) [[unlikely]]
      break;
    base::debug_invariant("I31", [&] { return record::epoch_of(seen.tid) < table.sealed_from(); });
    if (seen.state == ReadState::kMissing) return {Outcome::kNotFound, 0};
    if (seen.state != ReadState::kReplaced) [[likely]]
      return {seen.state == ReadState::kValue ? Outcome::kOk : Outcome::kBufferTooSmall, seen.size};
    record = find_again(table, key);
  }
  return {doom_busy(record), 0};
}

GetResult LocalAccess::read(TableCore& table, std::string_view key, Record* record, std::span<char> buffer) {
  if (sealed(table)) return read_sealed(table, key, record, buffer);
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    if (record == nullptr) return {Outcome::kNotFound, 0};
    if (cc::WriteEntry* const own = access_.writes.find(record)) [[unlikely]] {
      if (const Outcome whole = make_whole(*own); whole != Outcome::kOk) return {whole, 0};
      return own->remove ? GetResult{Outcome::kNotFound, 0} : copy_out(own->value, buffer);
    }
    cc::TidWord rts = 0;
    const record::StableRead seen = cc::read(*record, key.size(), buffer, worker_.state(), access_, rts);
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
    return {seen.state == ReadState::kValue ? Outcome::kOk : Outcome::kBufferTooSmall, seen.size};
  }
  return {doom_busy(record), 0};
}

/// The wait for a lock ends by itself. So this goes round again only if the record has been replaced meanwhile. A
/// record that the transaction has written already keeps the lock that the write asked for.
Outcome LocalAccess::lock_alone(TableCore& table, std::string_view key) {
  if (sealed(table) || base::injected("two-pl-upgrades-late")) return Outcome::kOk;
  Record* record = look_up(table, key);
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    if (record == nullptr || access_.writes.find(record) != nullptr) return Outcome::kOk;
    record::TidWord rts = 0;
    const record::StableRead seen = cc::look(*record, worker_.state(), access_, rts);
    if (seen.state == ReadState::kBusy) break;
    if (seen.state != ReadState::kReplaced) return Outcome::kOk;
    record = find_again(table, key);
  }
  return record == nullptr ? Outcome::kOk : doom_busy(record);
}

Outcome LocalAccess::get(TableCore& table, std::string_view key, std::string& value) {
  return read_whole(table, key, look_up(table, key), value);
}

Outcome LocalAccess::read_whole(TableCore& table, std::string_view key, Record* record, std::string& value) {
  return read_into(value, [&](std::span<char> buffer) { return read(table, key, record, buffer); });
}

/// Makes all searches first, and then all reads. So the cache misses on the records of one table overlap with the
/// searches in the next one.
Outcome LocalAccess::get_together(const LocalGets& gets) {
  LocalGets::Found found;
  {
    const cc::IndexTime time(worker_.state().timed_work, worker_.shared().meter);
    gets.find(found);
  }
  if (Together* const others = worker_.in_turns(); others != nullptr) others->turn();
  const std::uint64_t serial = transaction_.serial();
  const bool locks = cc::locks_reads(worker_.state());
  for (std::size_t i = 0; i < gets.size(); ++i) {
    MultiGet& get = gets[i];
    TableCore& table = *get.table.core();
    Record* record = record::record_of(found[i].value);
    if (record == nullptr) {
      note_place(table, found[i].place, found[i].version);
    } else {
      lookups_.remembered(table.index(), get.key) = record;
      if (locks && get.will_write) {
        if (const Outcome locked = lock_alone(table, get.key); locked != Outcome::kOk) return locked;
        record = look_up(table, get.key);
      }
    }
    get.result = get.is_part() ? read_part(table, record, get) : read(table, get.key, record, get.buffer);
    if (const Outcome standing = transaction_.standing(serial); standing != Outcome::kOk) [[unlikely]]
      return standing;
  }
  return Outcome::kOk;
}

bool LocalAccess::reads_hold(record::TidWord stamp) const {
  return !failed(cc::validate_now(access_, worker_.state(), stamp));
}
record::TidWord LocalAccess::stamp_of_reads() const { return cc::stamp_of_reads(access_, worker_.state()); }

void LocalAccess::declare(TableCore& table, std::string_view key) {
  const cc::Settings& settings = worker_.shared().settings;
  if (!settings.in_regions || sealed(table)) return;
  // A snapshot that reads a local record waits until it is unlocked, however long that takes. This thread may read in a
  // snapshot before it commits, and would wait for itself. So with snapshots local records are not claimed but read
  // optimistically. A snapshot's wait for a shared record is bounded.
  if (settings.snapshots && !table.is_shared()) return;
  const cc::Lookup at = table.index().find(key);
  if (at.value == 0) return;
  Record* const record = lookups_.remembered(table.index(), key) = record::record_of(at.value);
  cc::note_declared(*record, access_, worker_.state());
}

void LocalAccess::prefetch(TableCore& table, std::string_view key) {
  // The search brings the nodes of the index into the processor's cache, and the lookup cache spares the next operation
  // a second search.
  const cc::Lookup at = table.index().find(key);
  if (at.value == 0) return;
  lookups_.remembered(table.index(), key) = record::record_of(at.value);
  table.prefetch(record::record_of(at.value));
}

}  // namespace granary::txn
