#pragma once
// Divides a multi_get by where the keys live. Keys of this node are read in batches whose cache misses overlap, and
// keys of other nodes all at once. Transactions and snapshots use it.

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include <granary/transaction.h>

#include "src/base/batch.h"
#include "src/base/cache_line.h"
#include "src/txn/local_access.h"
#include "src/txn/table_core.h"

namespace granary::txn {

/// Copies to a get's buffer what the get asks for of a value.
inline GetResult hand_out(std::string_view value, const MultiGet& get) {
  return get.is_part() ? copy_part_out(value, get.part_from, get.buffer) : copy_out(value, get.buffer);
}

/// A batch of gets of keys of this node.
class LocalGets {
 public:
  static constexpr std::size_t kMost = 64;
  using Found = std::array<cc::Lookup, kMost>;

  bool full() const { return size_ == kMost; }
  std::size_t size() const { return size_; }
  MultiGet& operator[](std::size_t i) const { return *gets_[i]; }
  /// Precondition: not full.
  void add(MultiGet& get) {
    gets_[size_] = &get;
    keys_[size_++] = get.key;
  }
  void clear() { size_ = 0; }

  /// Searches the index for all keys of each run of gets on one table together, and prefetches the records.
  void find(Found& found) const {
    for (std::size_t from = 0, to = 0; from < size_; from = to) {
      TableCore* const table = gets_[from]->table.core();
      while (to < size_ && gets_[to]->table.core() == table) ++to;
      table->index().find_many({keys_.data() + from, to - from}, {found.data() + from, to - from});
      for (std::size_t i = from; i < to; ++i) {
        if (found[i].value != 0) fetch_ahead(*table, *gets_[i], record::record_of(found[i].value));
      }
    }
  }
  /// Prefetches the bytes of the record that the get asks for.
  static void fetch_ahead(const TableCore& table, const MultiGet& get, const record::Record* record) {
    if (get.is_part()) {
      table.prefetch_part(record, get.part_from, get.buffer.size());
    } else {
      table.prefetch(record);
    }
  }

 private:
  std::size_t size_ = 0;
  std::array<MultiGet*, kMost> gets_;
  std::array<std::string_view, kMost> keys_;
};

/// The gets of keys of other nodes; `Get` is RemoteGet or RemoteSnapshotGet.
template <typename Get>
struct GetsElsewhere {
  GetsElsewhere(base::Arena& arena, std::size_t most) : gets(arena, most), asked(arena, most) {}

  base::Batch<Get> gets;
  base::Batch<MultiGet*> asked;  ///< the application's get for which each was made

  void add(MultiGet& get, std::uint16_t home) {
    Get& added = gets.emplace_back(Get{.key = {get.table.core(), home, get.key}});
    if constexpr (requires { added.will_write; }) added.will_write = get.will_write;
    asked.push_back(&get);
  }
  /// Gives each of them this outcome.
  void refuse(Outcome outcome) {
    for (MultiGet* const get : asked) get->result = {outcome, 0};
  }
};

/// Gives every get the outcome because of which none of them can be answered, and returns it.
[[gnu::cold]] inline Outcome refuse_all(std::span<MultiGet> gets, Outcome outcome) {
  for (MultiGet& get : gets) get.result = {outcome, 0};
  return outcome;
}

/// Calls `read_together` for batches of the gets of keys of this node, until one of them does not return kOk. Gets of
/// keys of other nodes are added to `elsewhere`. A get whose table or key is refused has the refusal as its result, and
/// the others are read as if it were not there.
template <typename Get, typename ReadTogether>
Outcome split_by_home(std::span<MultiGet> gets, const cc::DatabaseState& shared, GetsElsewhere<Get>& elsewhere,
                      ReadTogether&& read_together) {
  LocalGets here;
  for (MultiGet& get : gets) {
    if (const Outcome target = check_target(get.table.core(), get.key, shared); target != Outcome::kOk) [[unlikely]] {
      get.result = {target, 0};
      continue;
    }
    if (const auto home = home_elsewhere(*get.table.core(), get.key)) [[unlikely]] {
      elsewhere.add(get, *home);
      continue;
    }
    here.add(get);
    if (!here.full()) continue;
    if (const Outcome read = read_together(here); read != Outcome::kOk) return read;
    here.clear();
  }
  return read_together(here);
}

}  // namespace granary::txn
