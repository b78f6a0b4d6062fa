// The allocator of one worker, before the pool that all share (slab.cc).

#include <cstdlib>
#include <new>
#include <utility>

#include "src/base/cache_line.h"
#include "src/base/check.h"
#include "src/base/region_mark.h"
#include "src/memory/size_classes.h"
#include "src/memory/slab.h"

namespace granary::memory {
namespace {

// A cache that holds more free blocks of a class than this gives a batch back to the pool, so that a
// worker that mostly frees feeds one that mostly allocates.
constexpr std::size_t kBatchBytes = 64 * 1024;
constexpr std::size_t kWorthPrefetching = 4 * base::kCacheLine;
std::size_t batch_count(std::size_t class_index) { return kBatchBytes / bytes_of(class_index) + 1; }

}  // namespace

SlabCache::SlabCache(SlabPool& pool) : pool_(pool), lists_(kSlabKinds * kClasses) {}

SlabCache::~SlabCache() { release(); }

void SlabCache::release() noexcept {
  if (pool_.options_.simple) return;
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    try {
      release(i);
    } catch (const std::bad_alloc&) {
      // The list stays as it is, so its blocks serve the worker, or the next release.
    }
  }
}

void SlabCache::release(std::size_t number) {
  List& list = lists_[number];
  const std::size_t bytes = bytes_of(number % kClasses);
  for (; list.cut != nullptr && list.cut + bytes <= list.cut_end; list.cut += bytes) list.blocks.push_back(list.cut);
  if (!list.blocks.empty()) pool_.give_batch(number, std::move(list.blocks));
  list = {};
}

void* SlabCache::allocate(SlabKind kind, std::size_t bytes, Urgency urgency) {
  base::outside_region();
  if (pool_.options_.simple) [[unlikely]] {
    // Whole cache lines are aligned as extents align them: hash buckets rely on it.
    const std::size_t grain = bytes % base::kCacheLine == 0 ? base::kCacheLine : kSlabGrain;
    void* block = std::aligned_alloc(grain, (bytes + grain - 1) / grain * grain);
    if (block != nullptr) account(kind, static_cast<std::int64_t>(SlabPool::simple_capacity(block)));
    return block;
  }
  const std::size_t class_index = class_of(bytes);
  List& list = lists_[list_of(kind, class_index)];
  void* block = nullptr;
  if (!list.blocks.empty()) [[likely]] {
    block = list.blocks.back();
    list.blocks.pop_back();
    // The next one is likely to be cold, and to be written from its beginning on.
    if (!list.blocks.empty()) base::prefetch_for_write(list.blocks.back(), std::min(bytes, kWorthPrefetching));
  } else if (static_cast<std::size_t>(list.cut_end - list.cut) >= bytes_of(class_index)) {
    block = list.cut;
    list.cut += bytes_of(class_index);
  } else {
    block = refill(kind, class_index, urgency);
    if (block == nullptr) [[unlikely]]
      return nullptr;
  }
  base::debug_invariant("I3", [&] { return pool_.is_block(kind, class_index, block); });
  account(kind, static_cast<std::int64_t>(bytes_of(class_index)));
  return block;
}

void* SlabCache::refill(SlabKind kind, std::size_t class_index, Urgency urgency) {
  List& list = lists_[list_of(kind, class_index)];
  if (pool_.take_batch(list_of(kind, class_index), &list.blocks)) {
    void* const block = list.blocks.back();
    list.blocks.pop_back();
    return block;
  }
  std::size_t bytes = 0;
  char* extent = pool_.take_extent(kind, class_index, urgency, &bytes);
  if (extent == nullptr) return nullptr;
  list.cut = extent + bytes_of(class_index);
  list.cut_end = extent + bytes;
  return extent;
}

/// Never throws, since the caller may hold locks, and has often made changes that cannot be undone.
void SlabCache::free(SlabKind kind, void* block) noexcept {
  base::outside_region();
  const std::size_t bytes = pool_.capacity(block);
  account(kind, -static_cast<std::int64_t>(bytes));
  if (pool_.options_.simple) [[unlikely]] {
    std::free(block);
    return;
  }
  const std::size_t class_index = class_of(bytes);
  base::debug_invariant("I3", [&] { return pool_.is_block(kind, class_index, block); });
  List& list = lists_[list_of(kind, class_index)];
  try {
    list.blocks.push_back(block);
    const std::size_t batch = batch_count(class_index);
    if (list.blocks.size() < 2 * batch) [[likely]]
      return;
    const auto middle = list.blocks.begin() + static_cast<std::ptrdiff_t>(batch);
    pool_.give_batch(list_of(kind, class_index), SlabPool::Blocks(list.blocks.begin(), middle));
    list.blocks.erase(list.blocks.begin(), middle);
  } catch (const std::bad_alloc&) {
    // The system has no memory for a longer list: the block is never used again, or the cache keeps what it has.
  }
}

}  // namespace granary::memory
