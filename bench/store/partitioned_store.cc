#include "bench/store/partitioned_store.h"

#include "bench/harness/machine.h"

namespace granary::bench::store {

using kvstore::ordered::InsertResult;
using kvstore::ordered::Value;

void* PartitionedTransaction::find(const PartitionTree& table, const ShortKey& key) {
  const PlaceKey place(table.tree, key.view());
  if (void* const known = places_.find(place)) return known;
  void* const block = reinterpret_cast<void*>(table.tree->find(key.view()).value);
  if (block != nullptr) places_.remember(place, block);
  return block;
}

Outcome PartitionedTransaction::insert_row(const PartitionTree& table, const ShortKey& key, const void* row,
                                           std::size_t bytes) {
  memory::SlabCache& slabs = table.partition->slabs;
  void* const block = slabs.allocate(memory::SlabKind::kRecord, bytes);
  if (block == nullptr) return Outcome::kOutOfMemory;
  std::memcpy(block, row, bytes);
  const InsertResult result = table.tree->insert_if_absent(key.view(), reinterpret_cast<Value>(block),
                                                           table.partition->nodes, insert_hint(table.tree));
  if (result.what != InsertResult::What::kInserted) {
    slabs.free(memory::SlabKind::kRecord, block);
    return result.what == InsertResult::What::kPresent ? Outcome::kAlreadyExists : Outcome::kOutOfMemory;
  }
  undo_.inserted(table, key, block);
  return Outcome::kOk;
}

Outcome PartitionedTransaction::remove_row(const PartitionTree& table, const ShortKey& key) {
  void* const block = find(table, key);
  if (block == nullptr) return Outcome::kNotFound;
  table.tree->remove(key.view(), reinterpret_cast<Value>(block), table.partition->nodes);
  places_.forget({table.tree, key.view()});
  undo_.removed(table, key, block);
  return Outcome::kOk;
}

Result<std::unique_ptr<PartitionedStore>> PartitionedStore::open(const Options& options, std::uint32_t partitions) {
  const std::uint64_t limit = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : available_memory() / 4 * 3;
  auto region = memory::Region::map({.reserve_bytes = limit,
                                     .huge_pages = options.huge_pages,
                                     .prefault_bytes = std::min(options.prefault_bytes, limit),
                                     .numa_node = options.numa_node});
  if (!region.ok()) return region.status();
  return std::make_unique<PartitionedStore>(options, std::move(*region), limit, partitions);
}

PartitionedStore::PartitionedStore(const Options& options, std::unique_ptr<memory::Region> region,
                                   std::uint64_t limit_bytes, std::uint32_t partitions)
    : region_(std::move(region)),
      slabs_(*region_, {.limit_bytes = limit_bytes, .simple = options.simple_allocator}),
      epochs_({}) {
  for (std::uint32_t i = 0; i < partitions; ++i) partitions_.push_back(std::make_unique<Partition>(slabs_, epochs_));
}

Result<PartitionTree> PartitionedStore::create_tree(const std::string& name, std::uint32_t partition) {
  Partition& owner = *partitions_[partition];
  auto tree = std::make_unique<kvstore::ordered::Tree>(owner.nodes);
  if (!tree->ok()) {
    return Status(StatusCode::kResourceExhausted, "no memory for table '" + name + "'; raise --memory_limit");
  }
  trees_.push_back(std::move(tree));
  return PartitionTree{&owner, trees_.back().get()};
}

void PartitionedStore::collect(const Footprint& footprint, std::uint64_t turn) {
  constexpr std::uint64_t kEvery = 1024;
  constexpr std::size_t kBudget = 1024;
  if (turn % kEvery != 0) return;
  // Nobody reads a partition's tree without its lock, so any epoch that has passed is safe.
  if (ticking_.try_lock()) {
    epochs_.tick();
    ticking_.unlock();
  }
  for (const std::uint32_t partition : footprint) partitions_[partition]->nodes.reclaim(kBudget);
}

StoreFigures PartitionedStore::figures() const {
  StoreFigures figures{
      .memory_bytes = slabs_.bytes_reserved(), .epoch = epochs_.current(), .page_kind = region_->page_kind()};
  for (const auto& partition : partitions_) {
    figures.records_bytes += static_cast<std::uint64_t>(partition->slabs.bytes_in_use(memory::SlabKind::kRecord));
    figures.index_bytes += static_cast<std::uint64_t>(partition->slabs.index_bytes_in_use());
  }
  return figures;
}

}  // namespace granary::bench::store
