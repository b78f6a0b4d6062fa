#pragma once
// The rows of a node in the two-phase-commit baseline, under strict two-phase locking without waits: a transaction that
// does not get a lock releases all its locks and is tried again later. No row is written before the commit.

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/store/two_pc/message.h"

namespace granary::bench::two_pc {

class Branch;

struct StoredRow {
  std::uint32_t readers = 0;  ///< how many transactions have locked it to read
  bool written = false;       ///< whether a transaction has locked it to write; it may be the only reader, too
  bool present = false;       ///< whether the row exists: an absent key that is locked has an entry, too
  std::string value;

  bool is_free() const { return readers == 0 && !written; }
};

/// A row to read.
struct Wanted {
  RowKey key;
  std::uint64_t to_write = 0;  ///< not 0: the row will be written, so it is locked to write
};

struct Range {
  std::uint32_t table = 0;
  std::uint32_t most = ~std::uint32_t{0};  ///< most rows to visit
  std::uint64_t from = 0, to = 0;          ///< [from, to)
  std::uint64_t backwards = 0;             ///< not 0: visits rows from the range's end on
};

/// The rows of one table at this node. They are found by key only, or lie in the order of their keys.
struct Part {
  /// A range that a transaction has scanned.
  struct Scanned {
    const Branch* by;
    std::uint64_t from, to;
  };

  explicit Part(bool hashed) : hash(hashed) {}
  StoredRow& operator[](std::uint64_t key) { return hash ? by_hash[key] : by_order[key]; }
  void erase(std::uint64_t key) { hash ? by_hash.erase(key) : by_order.erase(key); }

  const bool hash;
  std::unordered_map<std::uint64_t, StoredRow> by_hash;
  std::map<std::uint64_t, StoredRow> by_order;
  std::vector<Scanned> scanned;  ///< no other transaction may insert there, so that scans meet no phantoms
};

/// All tables' rows at a node. Each use holds the latch, and does not wait for anything meanwhile.
struct Rows {
  std::mutex latch;
  std::deque<Part> parts;  // by RowKey::table
};

struct Write {
  enum class Kind : std::uint32_t { kUpdate, kInsert, kRemove };
  RowKey key;
  Kind kind = Kind::kUpdate;
  std::string value = {};
};

/// A transaction's part at one node: the locks that it holds there, and what it is going to write. One thread uses it.
class Branch {
 public:
  explicit Branch(Rows& rows) : rows_(rows) {}
  ~Branch() { release(); }
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;

  /// Locks rows and calls `take(i, present, value)` for each. Returns false if another transaction holds a lock, or if
  /// there is no such table.
  template <typename Take>
  bool read(std::span<const Wanted> wanted, Take&& take) {
    const std::lock_guard held(rows_.latch);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const StoredRow* const row = lock_row(wanted[i].key, wanted[i].to_write != 0);
      if (row == nullptr) return false;
      take(i, row->present, std::string_view(row->value));
    }
    return true;
  }
  /// Locks the rows in a range of an ordered table and calls `take(key, value)` for each that is present. Returns false
  /// like read().
  template <typename Take>
  bool scan(const Range& range, Take&& take);

  /// Locks the rows to write and checks that they can be written. After it has returned true, commit() cannot fail.
  bool prepare(std::vector<Write>& writes);
  void commit();
  /// Prepares and commits at once. If that cannot be, releases all locks and returns false.
  bool finish(std::vector<Write>& writes);
  /// Releases all locks and drops the prepared writes.
  void release();

 private:
  struct Held {
    RowKey key;
    StoredRow* row;  // rows stay where they are while they are locked
    bool read, written;
  };
  struct Prepared {
    StoredRow* row;
    bool present;
    std::string value;
  };
  bool has_nothing() const { return held_.empty() && scanned_.empty(); }
  // The caller holds the latch for all of these.
  StoredRow* lock_row(const RowKey& key, bool to_write);
  bool lock(const RowKey& key, StoredRow& row, bool to_write);
  bool prepare_all(std::vector<Write>& writes);
  bool prepare_one(Write& write);
  void commit_all();
  void release_all();

  Rows& rows_;
  std::vector<Held> held_;
  std::vector<std::uint32_t> scanned_;  // the tables that it has scanned
  std::vector<Prepared> prepared_;
};

template <typename Take>
bool Branch::scan(const Range& range, Take&& take) {
  const std::lock_guard held(rows_.latch);
  if (range.table >= rows_.parts.size() || range.from > range.to) return false;
  Part& part = rows_.parts[range.table];
  Part::Scanned seen{this, range.from, range.to};
  std::uint32_t left = range.most;
  const auto visit = [&](auto& entry) {
    // Absent rows are locked, too: another transaction may be about to insert the row.
    if (!lock({range.table, 0, entry.first}, entry.second, false)) return false;
    if (!entry.second.present) return true;
    take(entry.first, std::string_view(entry.second.value));
    if (--left == 0) (range.backwards != 0 ? seen.from : seen.to) = entry.first + (range.backwards != 0 ? 0 : 1);
    return true;
  };
  const auto low = part.by_order.lower_bound(range.from), high = part.by_order.lower_bound(range.to);
  bool done = true;
  if (range.backwards != 0) {
    for (auto at = high; done && at != low && left != 0;) done = visit(*--at);
  } else {
    for (auto at = low; done && at != high && left != 0; ++at) done = visit(*at);
  }
  part.scanned.push_back(seen);
  scanned_.push_back(range.table);
  return done;
}

}  // namespace granary::bench::two_pc
