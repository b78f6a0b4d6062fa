#include "recovery/packed_indexes.h"

namespace granary::recovery {

namespace {

/// By so much of the memory limit may nodes grow in between. The part of the reserve that loading may use (src/db/engine.cc) is more than
/// twice that.
constexpr std::uint64_t kShareOfMemory = 128;

}  // namespace

void PackedIndexes::look() {
  const auto step = static_cast<std::int64_t>(worker_.shared.slabs.limit_bytes() / kShareOfMemory);
  if (worker_.slabs.bytes_in_use(memory::SlabKind::kTreeNode) - packed_bytes_ < step) return;
  for (txn::TableCore* const table : tables_) {
    if (table != nullptr && table->index().ordered()) table->index().tree().pack(worker_.nodes);
  }
  packed_bytes_ = worker_.slabs.bytes_in_use(memory::SlabKind::kTreeNode);
}

}  // namespace granary::recovery
