#include "kvstore/remote/leaf_cache.h"

#include <mutex>
#include <new>

#include "src/base/cache_line.h"
#include "src/base/counter.h"

namespace granary::kvstore::remote {

LeafCache::~LeafCache() { budget_.give_back(taken()); }

std::optional<KnownLeaf> LeafCache::find(Position at, LeafCacheCounters& worker, Unknown unknown) const {
  const std::shared_lock lock(mutex_);
  auto leaf = leaves_.upper_bound(at);
  if (leaf == leaves_.begin() || !(at < (--leaf)->second.high)) {
    if (unknown == Unknown::kIsMiss) base::bump(worker.misses);
    return std::nullopt;
  }
  base::bump(worker.hits);
  const Place& place = leaf->second;
  return KnownLeaf{.range = {.low = leaf->first, .high = place.high, .birth = place.birth}, .offset = place.offset};
}

/// Remembers a leaf. A leaf begins on a cache line, so nothing else is remembered, whichever node told it (I26).
void LeafCache::learn(const KnownLeaf& leaf) {
  if (leaf.offset % base::kCacheLine != 0 || !(leaf.range.low < leaf.range.high)) return;
  const std::unique_lock lock(mutex_);
  const Place place{.high = leaf.range.high, .offset = leaf.offset, .birth = leaf.range.birth};
  const auto known = leaves_.find(leaf.range.low);
  if (known != leaves_.end()) {
    known->second = place;
  } else {
    const bool of_budget = make_room();
    try {
      leaves_.emplace(leaf.range.low, place);
    } catch (const std::bad_alloc&) {  // without this leaf the owner is asked
      if (of_budget) budget_.give_back(kEntryBytes);
    }
  }
}

/// Sees to it that one more leaf may be remembered. Returns whether the budget has given something for that.
bool LeafCache::make_room() {
  if (leaves_.size() < kFreeEntries) return false;
  if (taken() <= budget_.left() && budget_.take(kEntryBytes)) return true;
  auto next = leaves_.upper_bound(hand_);
  if (next == leaves_.end()) next = leaves_.begin();
  hand_ = next->first;
  leaves_.erase(next);
  return false;
}

void LeafCache::forget(const KnownLeaf& leaf, LeafCacheCounters& worker) {
  base::bump(worker.stale);
  const std::unique_lock lock(mutex_);
  const auto known = leaves_.find(leaf.range.low);
  if (known == leaves_.end() || known->second.offset != leaf.offset || known->second.birth != leaf.range.birth) return;
  if (leaves_.size() > kFreeEntries) budget_.give_back(kEntryBytes);
  leaves_.erase(known);
}

std::size_t LeafCache::size() const {
  const std::shared_lock lock(mutex_);
  return leaves_.size();
}

}  // namespace granary::kvstore::remote
