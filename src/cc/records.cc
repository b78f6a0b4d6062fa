#include "src/cc/records.h"

#include "src/base/check.h"
#include "src/record/checksum.h"
#include "src/record/shared_change.h"

namespace granary::cc {

using memory::SlabKind;
using record::SharedRecord;

Record* make_placeholder(WorkerState& worker, std::size_t value_bytes) {
  void* const block = worker.slabs.allocate(SlabKind::kRecord, record::record_bytes(value_bytes));
  if (block == nullptr) return nullptr;
  auto* const record = static_cast<Record*>(block);
  record->set_previous(nullptr);
  base::store_word(&record->size_word, 0);
  record->store_tid(record::kUnborn);
  return record;
}

Record* make_shared_placeholder(WorkerState& worker, std::string_view key, std::uint32_t max_value_bytes) {
  const std::size_t bytes = record::shared_block_bytes(key.size(), max_value_bytes);
  void* const block = worker.slabs.allocate(SlabKind::kSharedRecord, bytes);
  if (block == nullptr) return nullptr;
  return &record::make_unborn(*static_cast<SharedRecord*>(block), key);
}

void fill_record(Record& record, std::string_view key, std::string_view value, TidWord word) {
  const std::uint32_t content = record::is_shared(&record) ? record::checksum_of_content(key, value) : 0;
  record::store_value(record, key, value, word, content);
  record.store_tid(word);
}

void free_record(WorkerState& worker, Record* record) {
  base::debug_invariant("I3", [&] { return !record::is_locked(record->tid(std::memory_order_relaxed)); });
  if (record::is_shared(record)) {
    worker.slabs.free(SlabKind::kSharedRecord, &record::shared_of(*record));
  } else {
    worker.slabs.free(SlabKind::kRecord, record);
  }
}

}  // namespace granary::cc
