#pragma once
// Makes a transaction's accesses to records of this node (Silo 4.5 to 4.7). LocalAccess has the transaction's access
// sets, and fills them as it reads, writes and scans. Execution (execution.h) calls it; keys of other nodes go to
// remote_access.h.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

#include <granary/transaction.h>

#include "src/base/arena.h"
#include "src/cc/access_set.h"
#include "src/cc/protocols.h"
#include "src/txn/transaction_state.h"
#include "src/txn/lookup_cache.h"
#include "src/txn/table_core.h"
#include "src/txn/worker_core.h"
#include "src/txn/write_rule.h"

namespace granary::txn {

class LocalGets;

inline GetResult copy_out(std::string_view value, std::span<char> buffer) {
  if (value.size() > buffer.size()) return {Outcome::kBufferTooSmall, value.size()};
  std::copy(value.begin(), value.end(), buffer.begin());
  return {Outcome::kOk, value.size()};
}

/// Reads a value of any size into a string, by `read(std::span<char>)`, which is called again with a larger buffer if
/// it says that the buffer is too small. The string becomes the value, or empty if there is none.
template <typename Read>
Outcome read_into(std::string& value, Read&& read) {
  constexpr std::size_t kFirstTry = 256;
  if (value.capacity() < kFirstTry) value.reserve(kFirstTry);
  value.resize(value.capacity());
  for (;;) {
    const GetResult got = read(std::span<char>(value));
    if (got.outcome == Outcome::kBufferTooSmall) {
      value.resize(got.size);
      continue;
    }
    value.resize(got.outcome == Outcome::kOk ? got.size : 0);
    return got.outcome;
  }
}
/// Copies the bytes of `value` from the byte `from` on, as many as there are and the buffer holds.
inline GetResult copy_part_out(std::string_view value, std::size_t from, std::span<char> buffer) {
  const std::string_view part = value.substr(std::min(from, value.size()), buffer.size());
  std::copy(part.begin(), part.end(), buffer.begin());
  return {Outcome::kOk, part.size()};
}
/// Returns how many bytes a read of a part copies, from the byte `from` of a value of `size` bytes to a buffer that has
/// room for `room` bytes.
constexpr std::size_t part_bytes(std::size_t from, std::size_t room, std::size_t size) {
  return std::min(room, size - std::min(from, size));
}
/// Whether a value of `size` bytes has `bytes` bytes from the byte `from` on.
constexpr bool part_fits(std::size_t from, std::size_t bytes, std::size_t size) {
  return from <= size && bytes <= size - from;
}

class LocalAccess {
 public:
  LocalAccess(WorkerCore& worker, TransactionState& transaction) : worker_(worker), transaction_(transaction) {}

  GetResult get(TableCore& table, std::string_view key, std::span<char> buffer) {
    return read(table, key, look_up(table, key), buffer);
  }
  Outcome get(TableCore& table, std::string_view key, std::string& value);
  /// Reads a batch together, so that cache misses overlap. Returns kOk, or how the transaction has ended meanwhile.
  Outcome get_together(const LocalGets& gets);
  /// Locks the key's record exclusively, as the transaction will write it, under a protocol that locks what is read.
  /// Otherwise it does nothing. A lock that is exclusive from the first access on has not to be upgraded later: of two
  /// transactions that share a lock, neither can upgrade it.
  Outcome lock_to_write(TableCore& table, std::string_view key) {
    return cc::locks_reads(worker_.state()) ? lock_alone(table, key) : Outcome::kOk;
  }
  void prefetch(TableCore& table, std::string_view key);
  // Parts of values (local_parts.cc).
  /// Whether parts of the table's values can be read, or written, without the whole value.
  bool reads_parts(const TableCore& table) const;
  bool writes_parts(const TableCore& table) const;
  /// Copies the bytes of the value from the byte `from` on, as many as there are and the buffer holds.
  GetResult get_part(TableCore& table, std::string_view key, std::size_t from, std::span<char> buffer) {
    return read_part(table, key, look_up(table, key), from, buffer);
  }
  Outcome write_part(TableCore& table, std::string_view key, std::size_t from, std::string_view bytes);
  /// Tells a protocol that cares about it that the transaction will touch this key's record.
  void declare(TableCore& table, std::string_view key);
  Outcome write(TableCore& table, std::string_view key, std::string_view value, const WriteRule& rule);
  // Puts that are made together (multi_put.cc).
  /// Searches for the records that these puts, of at most kMostPuts, will write at this node, so that cache misses
  /// overlap, and prefetches them. `found` has a place for each put, and gets its record; nullptr if there is none, or
  /// the put is refused or goes to another node. Nothing is noted in the access sets.
  void find_together(std::span<const MultiPut> puts, std::span<cc::Record*> found);
  static constexpr std::size_t kMostPuts = 64;
  /// Puts as write() does. `record` is that of the key, which find_together() has found.
  Outcome put(TableCore& table, std::string_view key, std::string_view value, cc::Record* record);
  /// Scans the table, or its secondary index `index` if that is not nullptr.
  ScanResult scan(TableCore& table, TableCore* index, const ScanRange& range, ScanFn visit);

  /// Whether everything that was read would pass validation now. `stamp`: under TicToc, the least time at which it has
  /// to hold.
  bool reads_hold(record::TidWord stamp = 0) const;
  /// Returns the least time at which the reads can hold, under TicToc.
  record::TidWord stamp_of_reads() const;

  cc::AccessSet& sets() { return access_; }
  const cc::DatabaseState& shared() const { return worker_.shared(); }
  /// Memory that is the transaction's until clear().
  base::Arena& arena() { return arena_; }
  void clear() {
    access_.clear();
    arena_.clear();
    lookups_.clear();
    insert_hints_.clear();
  }

 private:
  friend class ScanCursor;

  // Execution on records (local_read.cc).
  cc::Record* find(TableCore& table, std::string_view key);
  /// Returns the record that the transaction remembers for the key, or finds it.
  cc::Record* look_up(TableCore& table, std::string_view key);
  /// Finds the record that has taken the place of the one that the transaction remembered for the key.
  cc::Record* find_again(TableCore& table, std::string_view key) {
    return lookups_.remembered(table.index(), key) = find(table, key);
  }
  /// Reads `record`, or the record that has taken its place, and notes the read. If the transaction has written the
  /// key, it reads its own value.
  GetResult read(TableCore& table, std::string_view key, cc::Record* record, std::span<char> buffer);
  /// Reads a record of a sealed table, and notes nothing in the access sets.
  [[gnu::noinline]] GetResult read_sealed(TableCore& table, std::string_view key, cc::Record* record,
                                          std::span<char> buffer);
  GetResult read_part(TableCore& table, std::string_view key, cc::Record* record, std::size_t from,
                      std::span<char> buffer);
  /// Reads the part that a get of a multi_get asks for. `record` was found for its key.
  GetResult read_part(TableCore& table, cc::Record* record, const MultiGet& get);
  /// Implements lock_to_write() under a protocol that locks what is read.
  [[gnu::noinline]] Outcome lock_alone(TableCore& table, std::string_view key);
  /// Copies the whole value of `record`, or of the record that has taken its place.
  Outcome read_whole(TableCore& table, std::string_view key, cc::Record* record, std::string& value);
  Outcome note_read(cc::Record* record, record::TidWord tid, record::TidWord rts = 0);
  /// Dooms the transaction because `record` could not be read in a bounded time.
  [[gnu::cold]] Outcome doom_busy(const cc::Record* record);
  /// Whether the table is sealed for this transaction: then nothing in it ever changes, and reads of it are in no set
  /// (I31). Notes from which epoch it is sealed.
  bool sealed(const TableCore& table) {
    const epoch::Epoch from = table.sealed_from();
    if (access_.epoch < from) [[likely]]
      return false;
    access_.sealed_from = std::max(access_.sealed_from, from);
    return true;
  }
  /// Notes a place in the node set, unless the table is sealed.
  void note_place(const TableCore& table, cc::IndexNode place, cc::Version version) {
    if (sealed(table)) return;
    access_.nodes.note(place, version);
    access_.missed_tables |= cc::MissTimes::bit_of(table.id());
  }
  /// Notes a place, unless it was the last that was noted, and limits how many there are, as scans note many.
  Outcome note_node(const TableCore& table, cc::IndexNode place, cc::Version version);

  // Writes (local_write.cc; those of parts are in local_parts.cc).
  /// Changes the pending write of a key that the transaction writes once more.
  Outcome write_own(cc::WriteEntry& own, std::string_view value, const WriteRule& rule);
  Outcome write_own_part(cc::WriteEntry& own, std::size_t from, std::string_view bytes);
  /// Makes a write of a part a write of the whole value. Dooms the transaction if the record has changed since.
  Outcome make_whole(cc::WriteEntry& own) { return own.is_part() ? widen(own, 0, own.whole_bytes) : Outcome::kOk; }
  /// Makes the part larger: it becomes the bytes `from` to `to` of the value, which contain the part.
  [[gnu::noinline]] Outcome widen(cc::WriteEntry& own, std::size_t from, std::size_t to);
  Outcome write_new(TableCore& table, std::string_view key, std::string_view value, cc::Record** present);
  struct RecordToWrite {
    cc::Record* record = nullptr;    ///< the key's record; nullptr: there is nothing left to do
    Outcome settled = Outcome::kOk;  ///< if there is nothing left to do: the outcome of the write
  };
  RecordToWrite find_or_write_new(TableCore& table, std::string_view key, std::string_view value,
                                  const WriteRule& rule);
  void set_value(cc::WriteEntry& entry, std::string_view value, bool remove);

  /// Returns the buffer for values of a scan that begins now, within as many others as scan_depth_.
  std::string& scratch();

  WorkerCore& worker_;
  TransactionState& transaction_;
  cc::AccessSet access_;
  base::Arena arena_;
  LookupCache lookups_;
  InsertHints insert_hints_;
  std::deque<std::string> scratch_;  // one buffer for each depth of nested scans; their addresses stay
  std::size_t scan_depth_ = 0;
};

}  // namespace granary::txn
