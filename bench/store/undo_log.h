#pragma once
// Takes back the changes of a transaction of the Partitioned-Store. Changes are made in place, each with a note of the
// old state.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/store/partition.h"

namespace granary::bench::store {

/// A key of at most eight bytes.
struct ShortKey {
  char bytes[8] = {};
  std::uint32_t size = 0;
  std::string_view view() const { return {bytes, size}; }
};

class UndoLog {
 public:
  void updated(void* block, std::size_t bytes);
  void inserted(const PartitionTree& table, const ShortKey& key, void* block);
  void removed(const PartitionTree& table, const ShortKey& key, void* block);

  /// Keeps the changes; frees the rows that were removed.
  void commit();
  /// Takes the changes back, the last one first.
  void roll_back();

 private:
  enum class Change : std::uint8_t { kUpdated, kInserted, kRemoved };
  struct Entry {
    Change change;
    PartitionTree table;
    ShortKey key;
    void* block;
    std::size_t saved_at = 0, saved_bytes = 0;
  };
  void clear() {
    entries_.clear();
    saved_.clear();
    any_removed_ = false;
  }

  std::vector<Entry> entries_;
  std::vector<char> saved_;  // old rows, one after the other
  bool any_removed_ = false;
};

}  // namespace granary::bench::store
