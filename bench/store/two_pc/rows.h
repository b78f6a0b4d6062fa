#pragma once
// The rows of a node in the two-phase-commit baseline, under strict two-phase locking without waits: who does not get a
// lock loses, lets all go, and tries again later. Nothing is written before commit.

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
  std::uint32_t readers = 0;  ///< who share it
  bool written = false;       ///< locked for one alone, who may be a reader besides
  bool present = false;       ///< keys that are locked have a row even if they are absent
  std::string value;

  bool is_free() const { return readers == 0 && !written; }
};

/// A row to be read.
struct Wanted {
  RowKey key;
  std::uint64_t to_write = 0;  ///< not 0: it will be written, so nobody else may have it
};

struct Range {
  std::uint32_t table = 0;
  std::uint32_t most = ~std::uint32_t{0};  ///< rows
  std::uint64_t from = 0, to = 0;          ///< [from, to)
  std::uint64_t backwards = 0;             ///< from its end, if not 0
};

/// One table's part: found by key only, or in the order of its keys.
struct Part {
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
  std::vector<Scanned> scanned;  ///< where nobody else may insert, so that scans meet no phantoms
};

/// All parts of a node. Parts are added before others use them; each use holds the latch, and none waits meanwhile.
struct Rows {
  std::mutex latch;
  std::deque<Part> parts;  // by RowKey::table; those of other nodes stay empty
};

struct Write {
  enum class Kind : std::uint32_t { kUpdate, kInsert, kRemove };
  RowKey key;
  Kind kind = Kind::kUpdate;
  std::string value = {};
};

/// A transaction at one node: the locks it holds there, and what it is going to write. Used by one thread.
class Branch {
 public:
  explicit Branch(Rows& rows) : rows_(rows) {}
  ~Branch() { release(); }
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;

  /// Locks rows and hands them on: `take(i, present, value)`. False if a lock was not to be had, or there is no such
  /// table.
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
  /// The same for what is present in a range of an ordered table: `take(key, value)`.
  template <typename Take>
  bool scan(const Range& range, Take&& take);

  /// Locks what is to be written and sees that it can be. After true, commit() cannot fail.
  bool prepare(std::vector<Write>& writes);
  void commit();
  /// Both at once.
  bool finish(std::vector<Write>& writes);
  /// Lets all locks go.
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
  // All with the latch held.
  StoredRow* lock_row(const RowKey& key, bool to_write);
  bool lock(const RowKey& key, StoredRow& row, bool to_write);
  bool prepare_all(std::vector<Write>& writes);
  bool prepare_one(Write& write);
  void commit_all();
  void release_all();

  Rows& rows_;
  std::vector<Held> held_;
  std::vector<std::uint32_t> scanned_;  // tables
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
    if (!lock({range.table, 0, entry.first}, entry.second, false)) return false;  // somebody may be about to insert it
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
