#include "bench/store/undo_log.h"

#include <cstring>

#include "src/base/check.h"

namespace granary::bench::store {

using kvstore::ordered::InsertResult;
using kvstore::ordered::Value;

void UndoLog::updated(void* block, std::size_t bytes) {
  const std::size_t at = saved_.size();
  saved_.resize(at + bytes);
  std::memcpy(saved_.data() + at, block, bytes);
  entries_.push_back({Change::kUpdated, {}, {}, block, at, bytes});
}

void UndoLog::inserted(const PartitionTree& table, const ShortKey& key, void* block) {
  entries_.push_back({Change::kInserted, table, key, block});
}

void UndoLog::removed(const PartitionTree& table, const ShortKey& key, void* block) {
  entries_.push_back({Change::kRemoved, table, key, block});
  any_removed_ = true;
}

void UndoLog::commit() {
  if (any_removed_) {
    for (const Entry& entry : entries_) {
      if (entry.change == Change::kRemoved) entry.table.partition->slabs.free(memory::SlabKind::kRecord, entry.block);
    }
  }
  clear();
}

void UndoLog::roll_back() {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    const PartitionTree& table = entry->table;
    const Value value = reinterpret_cast<Value>(entry->block);
    switch (entry->change) {
      case Change::kUpdated: std::memcpy(entry->block, saved_.data() + entry->saved_at, entry->saved_bytes); break;
      case Change::kInserted:
        table.tree->remove(entry->key.view(), value, table.partition->nodes);
        table.partition->slabs.free(memory::SlabKind::kRecord, entry->block);
        break;
      case Change::kRemoved: {
        const InsertResult back = table.tree->insert_if_absent(entry->key.view(), value, table.partition->nodes);
        base::always_check(back.what == InsertResult::What::kInserted,
                           "a row whose removal is taken back finds its place");
        break;
      }
    }
  }
  clear();
}

}  // namespace granary::bench::store
