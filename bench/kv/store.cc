#include "bench/kv/store.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "bench/harness/machine.h"
#include "src/base/check.h"

namespace granary::bench::kv {

using kvstore::hash::Bucket;
using memory::SlabKind;
using record::Record;
using record::TidWord;

Access::Access(Store& store)
    : index_(store.index()),
      epochs_(store.epochs_),
      slot_(store.epochs_.acquire_slot()),
      slabs_(store.slabs_),
      nodes_(slabs_, store.epochs_) {
  base::always_check(slot_ != nullptr, "more accesses than epoch slots");
}

Access::~Access() { epochs_.release_slot(slot_); }

TidWord Access::lock(Record& record) {
  for (std::uint32_t turn = 0;; ++turn) {
    const TidWord word = record.tid();
    if (!record::is_locked(word) && record.try_lock(word)) return word;
    waiter_.pause(turn);
  }
}

std::size_t Access::copy(const Record& record, std::span<char> buffer) {
  for (;;) {
    const record::StableRead seen = record::read_stable(record, buffer.data(), buffer.size(), waiter_);
    if (seen.state != record::ReadState::kBusy) return seen.state == record::ReadState::kValue ? seen.size : 0;
  }
}

bool Access::read(std::string_view key, std::span<char> buffer) {
  const Entered entered(*this);
  const Record* const found = find(key);
  return found != nullptr && copy(*found, buffer) != 0;
}

void Access::locate_many(const cc::Index& index, std::span<const std::string_view> keys, std::span<Record*> found,
                         std::size_t prefetched_bytes) {
  constexpr std::size_t kBatch = 16;
  std::array<cc::Lookup, kBatch> lookups;
  const Entered entered(*this);
  for (std::size_t from = 0; from < keys.size(); from += kBatch) {
    const std::size_t count = std::min(kBatch, keys.size() - from);
    index.find_many(keys.subspan(from, count), {lookups.data(), count});
    for (std::size_t i = 0; i < count; ++i) {
      found[from + i] = reinterpret_cast<Record*>(lookups[i].value);
      if (lookups[i].value != 0) base::prefetch_range(found[from + i], sizeof(Record) + prefetched_bytes);
    }
  }
}

std::pair<Record*, bool> Access::insert(cc::Index& index, std::string_view key, std::string_view value) {
  auto* const fresh = static_cast<Record*>(slabs_.allocate(SlabKind::kRecord, record::record_bytes(value.size())));
  if (fresh == nullptr) return {nullptr, false};
  base::store_word(&fresh->previous_word, 0);
  base::store_word(&fresh->size_word, value.size());
  base::copy_to_shared(fresh->value_words(), value.data(), value.size());
  const Entered entered(*this);
  fresh->store_tid(record::version_word(record::make_tid(epochs_.current(), 1), /*removed=*/false));
  const cc::Inserted done = index.insert_if_absent(key, reinterpret_cast<cc::Value>(fresh), nodes_, nullptr);
  if (done.what == cc::InsertedWhat::kInserted) return {fresh, true};
  slabs_.free(SlabKind::kRecord, fresh);
  return {reinterpret_cast<Record*>(done.present), false};
}

Result<std::unique_ptr<Store>> Store::open(const Options& options, std::optional<std::uint64_t> hash_keys) {
  const std::uint64_t limit = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : available_memory() / 4 * 3;
  auto region = memory::Region::map({.reserve_bytes = limit,
                                     .huge_pages = options.huge_pages,
                                     .prefault_bytes = std::min(options.prefault_bytes, limit),
                                     .numa_node = options.numa_node});
  if (!region.ok()) return region.status();
  std::unique_ptr<Store> store(new Store(options, std::move(*region), limit));
  auto made = store->make_index(hash_keys);
  if (!made.ok()) return made.status();
  store->index_ = std::move(*made);
  return store;
}

Result<cc::Index*> Store::add_index(std::optional<std::uint64_t> hash_keys) {
  const std::lock_guard lock(mutex_);
  auto made = make_index(hash_keys);
  if (!made.ok()) return made.status();
  more_indexes_.push_back(std::move(*made));
  return more_indexes_.back().get();
}

Result<std::unique_ptr<cc::Index>> Store::make_index(std::optional<std::uint64_t> hash_keys) {
  const Status no_memory(StatusCode::kResourceExhausted, "no memory for the root of the index; see --memory_limit");
  if (hash_keys) {
    const std::uint64_t buckets = kvstore::hash::Table::buckets_for(*hash_keys);
    char* const header = slabs_.take_run(buckets * sizeof(Bucket));
    if (header == nullptr) return no_memory;
    main_header_bytes_ += buckets * sizeof(Bucket);
    const std::span<Bucket> main(reinterpret_cast<Bucket*>(header), buckets);
    return std::make_unique<cc::Index>(main, region_->base());
  }
  auto index = std::make_unique<cc::Index>(*root_nodes_);
  if (!index->ok()) return no_memory;
  return index;
}

Store::Store(const Options& options, std::unique_ptr<memory::Region> region, std::uint64_t limit_bytes)
    : region_(std::move(region)),
      slabs_(*region_, {.limit_bytes = limit_bytes, .simple = options.simple_allocator}),
      epochs_({.snapshot_epochs = options.snapshot_epochs, .max_open_epochs = 0}),
      root_slabs_(std::make_unique<memory::SlabCache>(slabs_)),
      root_nodes_(std::make_unique<kvstore::NodeMemory>(*root_slabs_, epochs_)),
      epoch_thread_([this, epoch_ms = options.epoch_ms] { advance_epochs(epoch_ms); }) {}

Store::~Store() {
  stopping_.store(true, std::memory_order_relaxed);
  epoch_thread_.join();
}

void Store::advance_epochs(std::uint32_t epoch_ms) {
  while (!stopping_.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(epoch_ms));
    epochs_.tick();
  }
}

Access* Store::take_access() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    accesses_.push_back(std::make_unique<Access>(*this));
    return accesses_.back().get();
  }
  Access* const access = idle_.back();
  idle_.pop_back();
  return access;
}

void Store::give_access(Access* access) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(access);
}

StoreFigures Store::figures() const {
  const std::lock_guard lock(mutex_);
  std::int64_t records = 0, nodes = root_slabs_->index_bytes_in_use();
  for (const auto& access : accesses_) {
    records += access->bytes_in_use(SlabKind::kRecord);
    nodes += access->index_bytes_in_use();
  }
  return {.memory_bytes = slabs_.bytes_reserved(),
          .records_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(records, 0)),
          .index_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(nodes, 0)) + main_header_bytes_,
          .version_bytes = 0,
          .garbage_items = 0,
          .epoch = epochs_.current(),
          .page_kind = region_->page_kind()};
}

}  // namespace granary::bench::kv
