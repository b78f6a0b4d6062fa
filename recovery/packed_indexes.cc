#include "recovery/packed_indexes.h"

namespace granary::recovery {
namespace {

/// The share of the memory limit by which nodes may grow between two packings. It is no more than the part of the
/// reserve that loading may use, and that an index could not use while the database ran (src/db/engine.cc).
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
