#pragma once
// A transaction's accesses to records of this node (Silo 4.5 to 4.7), over its access sets. Keys of other nodes are for remote.h.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

#include <granary/transaction.h>

#include "src/base/arena.h"
#include "src/cc/access_set.h"
#include "src/txn/life.h"
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

/// Reads a value of any size by `read(std::span<char>)`, which may tell that the buffer is too small. The string is as long as the value then, or
/// empty if there is none.
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
/// Copies what `value` has from the byte `from` on, as far as there is room.
inline GetResult copy_part_out(std::string_view value, std::size_t from, std::span<char> buffer) {
  const std::string_view part = value.substr(std::min(from, value.size()), buffer.size());
  std::copy(part.begin(), part.end(), buffer.begin());
  return {Outcome::kOk, part.size()};
}
/// Whether a value of `size` has so many bytes from `from` on.
constexpr bool part_fits(std::size_t from, std::size_t bytes, std::size_t size) {
  return from <= size && bytes <= size - from;
}

class LocalAccess {
 public:
  LocalAccess(WorkerCore& worker, Life& life) : worker_(worker), life_(life) {}

  GetResult get(TableCore& table, std::string_view key, std::span<char> buffer) {
    return read(table, key, look_up(table, key), buffer);
  }
  Outcome get(TableCore& table, std::string_view key, std::string& value);
  /// Reads a batch together, so that cache misses overlap. Returns kOk, or how the transaction ended meanwhile.
  Outcome get_together(const LocalGets& gets);
  void prefetch(TableCore& table, std::string_view key);
  // Parts of values (parts.cc).
  /// Whether these do without the whole value.
  bool reads_parts(const TableCore& table) const;
  bool writes_parts(const TableCore& table) const;
  /// Copies as much of the value, from the byte `from` on, as it has and the buffer holds.
  GetResult get_part(TableCore& table, std::string_view key, std::size_t from, std::span<char> buffer) {
    return read_part(table, key, look_up(table, key), from, buffer);
  }
  Outcome write_part(TableCore& table, std::string_view key, std::size_t from, std::string_view bytes);
  /// Tells a protocol that cares about it that the transaction will touch this key's record.
  void declare(TableCore& table, std::string_view key);
  Outcome write(TableCore& table, std::string_view key, std::string_view value, const WriteRule& rule);
  /// Scans the table, or the index of it if there is one.
  ScanResult scan(TableCore& table, TableCore* index, const ScanRange& range, ScanFn visit);

  /// Whether everything that was read would pass validation now. `stamp`: the least time for which it has to, under TicToc.
  bool reads_hold(record::TidWord stamp = 0) const;
  /// The least time at which the reads can hold, under TicToc.
  record::TidWord stamp_of_reads() const;

  cc::AccessSet& sets() { return access_; }
  /// Memory for the transaction until clear().
  base::Arena& arena() { return arena_; }
  void clear() {
    access_.clear();
    arena_.clear();
    lookups_.clear();
    insert_hints_.clear();
  }

 private:
  friend class ScanCursor;

  // Execution on records (read.cc).
  cc::Record* find(TableCore& table, std::string_view key);
  /// Returns the record that the transaction remembers for the key, or finds it.
  cc::Record* look_up(TableCore& table, std::string_view key);
  /// Reads `record`, or what has taken its place; keeps the read set. The transaction's own writes win.
  GetResult read(TableCore& table, std::string_view key, cc::Record* record, std::span<char> buffer);
  /// The same of a sealed table, without a trace.
  [[gnu::noinline]] GetResult read_sealed(TableCore& table, std::string_view key, cc::Record* record,
                                          std::span<char> buffer);
  GetResult read_part(TableCore& table, std::string_view key, cc::Record* record, std::size_t from,
                      std::span<char> buffer);
  /// Reads the part that one of several gets asks for, of the record that was found for its key.
  GetResult read_part(TableCore& table, cc::Record* record, const MultiGet& get);
  /// Copies the whole value of `record`, or of what has taken its place.
  Outcome read_whole(TableCore& table, std::string_view key, cc::Record* record, std::string& value);
  Outcome note_read(const cc::ReadEntry& entry);
  /// Whether nothing in the table ever changes for this transaction, so that nothing has to be remembered of it (I31).
  bool sealed(const TableCore& table) {
    const epoch::Epoch from = table.sealed_from();
    if (access_.epoch < from) [[likely]]
      return false;
    access_.sealed_from = std::max(access_.sealed_from, from);
    return true;
  }
  /// Keeps the node set. The first is for places that cannot be too many.
  void note_place(const TableCore& table, cc::Place place, cc::Version version) {
    if (sealed(table)) return;
    access_.nodes.note(place, version);
    access_.tables_of_nodes |= cc::NodeTimes::bit_of(table.id());
  }
  Outcome note_node(const TableCore& table, cc::Place place, cc::Version version);

  // Writes (write.cc).
  Outcome write_own(cc::WriteEntry& own, std::string_view value, const WriteRule& rule);
  Outcome write_own_part(cc::WriteEntry& own, std::size_t from, std::string_view bytes);
  /// Makes of a part the whole value that it leaves; kAborted if the record has changed since, so that the transaction is doomed.
  Outcome make_whole(cc::WriteEntry& own) { return own.is_part() ? widen(own, 0, own.whole_bytes) : Outcome::kOk; }
  /// Makes the part larger, to the bytes `from` to `to` of the value, among which the part lies.
  [[gnu::noinline]] Outcome widen(cc::WriteEntry& own, std::size_t from, std::size_t to);
  Outcome write_new(TableCore& table, std::string_view key, std::string_view value, cc::Record** present);
  void set_value(cc::WriteEntry& entry, std::string_view value, bool remove);

  /// Returns the buffer for values of the innermost scan.
  std::string& scratch();

  WorkerCore& worker_;
  Life& life_;
  cc::AccessSet access_;
  base::Arena arena_;
  LookupCache lookups_;
  InsertHints insert_hints_;
  std::deque<std::string> scratch_;  // one per scan depth; addresses stay
  std::size_t scan_depth_ = 0;
};

}  // namespace granary::txn
