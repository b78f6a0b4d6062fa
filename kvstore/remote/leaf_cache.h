#pragma once
// Remembers which leaf of another node's ordered table covers which keys. Such a key is looked up by a READ of its
// leaf, without asking the owner. All workers of the node share the cache.
//
// The owner never invalidates anything, and need not: leaves know their range, so a worker that READs one sees whether
// it is still the remembered leaf, and whether it has the key (kvstore/ordered/leaf_copy.h). The worker tells the cache
// by learn() and forget(). Inserts and removals change nothing that is remembered.
//
// Only leaves of layer 0 are remembered, which have the keys of up to 8 bytes. Ranges may overlap, as the cache learnt
// of them at different times. Then one of them is out of date, which shows when it is used.
//
// The memory comes from the budget that location caches share. A cache grows as long as the budget has at least as much
// left for the others. After that, each new leaf takes the place of another one, in the order of their keys. If keys
// come and go, as in a queue, the cache keeps dead leaves that are never looked up again, so it grows up to that limit.
// The memory is taken in pieces for many leaves, so that a transaction seldom has to allocate
// (tests/node/allocations_test.cc).

#include <atomic>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <shared_mutex>

#include "kvstore/ordered/tree.h"
#include "kvstore/remote/location_cache.h"

namespace granary::kvstore::remote {

using ordered::LeafRange;
using ordered::Position;

struct KnownLeaf {
  LeafRange range;
  std::uint64_t offset = 0;  ///< in the owner's region
};

/// Counters of one worker, which alone writes them (relaxed). Statistics sum them up.
struct LeafCacheCounters {
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> misses{0};
  std::atomic<std::uint64_t> stale{
      0};  ///< hits that turned out wrong: another leaf is there, or the key is in another one
  std::atomic<std::uint64_t> reads{0};  ///< leaves that were READ
};

class LeafCache {
 public:
  /// How much of the budget a leaf takes. The first few leaves take nothing.
  static constexpr std::uint64_t kEntryBytes = 112;
  static constexpr std::size_t kFreeEntries = 32;

  /// The budget must outlive the cache.
  explicit LeafCache(LocationBudget& budget) : budget_(budget) {}
  ~LeafCache();
  LeafCache(const LeafCache&) = delete;
  LeafCache& operator=(const LeafCache&) = delete;

  // Any thread may call these, but not in an HTM region, as they lock.

  /// Whether it counts as a miss that find() finds no leaf. It does not if the caller can do without the leaf, or will
  /// look for it once more: each miss is one question to the owner that a known leaf would have saved.
  enum class Unknown : std::uint8_t { kIsMiss, kIsNoMiss };
  std::optional<KnownLeaf> find(Position at, LeafCacheCounters& worker, Unknown unknown = Unknown::kIsMiss) const;
  /// Remembers the leaf, if the system has memory for that.
  void learn(const KnownLeaf& leaf);
  /// Forgets a leaf that is not there any more. If other workers have learnt another leaf since, that one stays.
  void forget(const KnownLeaf& leaf, LeafCacheCounters& worker);

  std::size_t size() const;

  /// Notes that the table has keys of more than 8 bytes where it is scanned, so its leaves of layer 0 are not enough
  /// for scans.
  void note_long_keys() { long_keys_.store(true, std::memory_order_relaxed); }
  bool has_long_keys() const { return long_keys_.load(std::memory_order_relaxed); }

 private:
  struct Place {
    Position high;
    std::uint64_t offset;
    std::uint32_t birth;
  };
  using Leaves = std::pmr::map<Position, Place>;

  bool make_room();
  /// Returns how much of the budget is taken.
  std::uint64_t taken() const {
    return leaves_.size() > kFreeEntries ? (leaves_.size() - kFreeEntries) * kEntryBytes : 0;
  }

  LocationBudget& budget_;
  mutable std::shared_mutex mutex_;
  std::pmr::unsynchronized_pool_resource memory_;
  Leaves leaves_{&memory_};             // ordered by their lower end
  Position hand_;                       // the leaf after this position makes room next
  std::atomic<bool> long_keys_{false};  // only a hint, so relaxed
};

}  // namespace granary::kvstore::remote
