// Threads that replace each other's entries all the time: a hit is always a location of its own key. Not covered: how
// often a torn entry is a miss.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kvstore/remote/location_cache.h"
#include "src/base/random.h"
#include "tests/support/enough.h"

namespace granary::kvstore::remote {
namespace {

/// Threads look for keys, remember and forget them, for so long and on until `enough()`. Returns how often they have
/// found one.
template <typename Enough>
std::uint64_t hammer(LocationCache& cache, std::uint64_t keys, std::chrono::milliseconds duration, Enough&& enough) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> hits{0};
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < 4; ++me) {
    threads.emplace_back([&, me] {
      LocationCacheCounters worker;
      base::Random random(me);
      while (!stop.load(std::memory_order_relaxed)) {
        const std::uint64_t key = random.below(keys);
        // The key's number is in the offset, so that a location tells whose it is.
        const Location mine((random.below(1000) * keys + key) * 8, random.below(1 << 14));
        const auto found = cache.find(key, worker);
        if (found) {
          EXPECT_EQ(found->offset() / 8 % keys, key);
        }
        if (!found || random.below(4) == 0) cache.remember(key, mine, worker);
        if (found && random.below(8) == 0) cache.forget(key, *found, worker);
        if (random.below(64) == 0) std::this_thread::yield();
      }
      hits.fetch_add(worker.hits.load());
    });
  }
  tests::sleep_until_enough(duration, enough);
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  return hits.load();
}

TEST(LocationCacheStress, AHitIsALocationOfItsKey) {
  LocationCache cache(4 * LocationCache::kEntriesOfSet * LocationCache::kEntryBytes);
  EXPECT_GT(hammer(cache, 64, std::chrono::milliseconds(1500), [] { return true; }), 1000u);
}

/// Others are still in the sets that the cache had before it doubled.
TEST(LocationCacheStress, AHitIsALocationOfItsKeyWhileTheCacheGrows) {
  constexpr std::uint64_t kBudget = std::uint64_t{8} << 20;
  std::uint64_t hits = 0;
  for (int round = 0; round < 10; ++round) {
    LocationBudget budget(kBudget);
    {
      LocationCache cache(budget);
      const auto has_grown = [&] { return cache.entries() * LocationCache::kEntryBytes > LocationCache::kFirstBytes; };
      hits += hammer(cache, 20'000, std::chrono::milliseconds(150), has_grown);
      EXPECT_GT(cache.entries() * LocationCache::kEntryBytes, LocationCache::kFirstBytes);
      EXPECT_EQ(kBudget - budget.left(), cache.entries() * LocationCache::kEntryBytes - LocationCache::kFirstBytes);
    }
    EXPECT_EQ(budget.left(), kBudget);
  }
  EXPECT_GT(hits, 1000u);
}

}  // namespace
}  // namespace granary::kvstore::remote
