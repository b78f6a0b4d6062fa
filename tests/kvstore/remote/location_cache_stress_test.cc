// Threads that replace each other's entries all the time: a hit is always a location of its own key. Not covered: how
// often a torn entry is a miss.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kvstore/remote/location_cache.h"
#include "src/base/random.h"

namespace granary::kvstore::remote {
namespace {

TEST(LocationCacheStress, AHitIsALocationOfItsKey) {
  constexpr std::uint64_t kKeys = 64;
  LocationCache cache(4 * LocationCache::kEntriesOfSet * LocationCache::kEntryBytes);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> hits{0};
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < 4; ++me) {
    threads.emplace_back([&, me] {
      LocationCacheCounters worker;
      base::Random random(me);
      while (!stop.load(std::memory_order_relaxed)) {
        const std::uint64_t key = random.below(kKeys);
        // The key's number is in the offset, so that a location tells whose it is.
        const Location mine((random.below(1000) * kKeys + key) * 8, random.below(1 << 14));
        const auto found = cache.find(key, worker);
        if (found) {
          EXPECT_EQ(found->offset() / 8 % kKeys, key);
        }
        if (!found || random.below(4) == 0) cache.remember(key, mine, worker);
        if (found && random.below(8) == 0) cache.forget(key, *found, worker);
        if (random.below(64) == 0) std::this_thread::yield();
      }
      hits.fetch_add(worker.hits.load());
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(hits.load(), 1000u);
}

}  // namespace
}  // namespace granary::kvstore::remote
