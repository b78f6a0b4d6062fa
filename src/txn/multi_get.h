#pragma once
// A multi_get taken apart: what is here, in batches whose cache misses overlap, and what is elsewhere, all at once.

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <granary/transaction.h>

#include "src/txn/context.h"

namespace granary::txn {

/// Some gets of keys of this node.
class LocalGets {
 public:
  static constexpr std::size_t kMost = 64;
  using Found = std::array<kvstore::ordered::Lookup, kMost>;

  bool full() const { return size_ == kMost; }
  std::size_t size() const { return size_; }
  MultiGet& operator[](std::size_t i) const { return *gets_[i]; }
  /// Precondition: not full.
  void add(MultiGet& get) {
    gets_[size_] = &get;
    keys_[size_++] = get.key;
  }
  void clear() { size_ = 0; }

  /// Searches each run of gets on one table together and brings the records closer.
  void find(Found& found) const {
    for (std::size_t from = 0, to = 0; from < size_; from = to) {
      TableCore* const table = gets_[from]->table.core();
      while (to < size_ && gets_[to]->table.core() == table) ++to;
      table->index().find_many({keys_.data() + from, to - from}, {found.data() + from, to - from});
      for (std::size_t i = from; i < to; ++i) {
        if (found[i].value != 0) table->prefetch(record::record_of(found[i].value));
      }
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
  std::vector<Get> gets;
  std::vector<MultiGet*> asked;  ///< for which each was made

  void add(MultiGet& get, std::uint16_t home) {
    gets.push_back({{get.table.core(), home, get.key}});
    asked.push_back(&get);
  }
};

/// Reads what is here, `read_together` a batch, and leaves the rest in `elsewhere`. Ends at the first get that is not `admitted`.
template <typename Get, typename Admitted, typename ReadTogether>
Outcome Context::take_apart(std::span<MultiGet> gets, GetsElsewhere<Get>& elsewhere, Admitted&& admitted,
                            ReadTogether&& read_together) {
  LocalGets here;
  for (MultiGet& get : gets) {
    const TableCore* const table = get.table.core();
    const Outcome outcome = admitted(table, get.key);
    if (outcome != Outcome::kOk) [[unlikely]]
      return get.result.outcome = outcome;
    if (const auto home = home_elsewhere(*table, get.key)) [[unlikely]] {
      elsewhere.add(get, *home);
      continue;
    }
    here.add(get);
    if (!here.full()) continue;
    read_together(here);
    here.clear();
  }
  read_together(here);
  return Outcome::kOk;
}

}  // namespace granary::txn
