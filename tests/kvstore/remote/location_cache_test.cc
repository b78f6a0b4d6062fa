// One thread on the location cache: what is remembered, replaced, forgotten, counted. Not covered: how good the
// replacement is (tests/bench/hash), threads (location_cache_stress_test).

#include "kvstore/remote/location_cache.h"

#include <unistd.h>

#include <fstream>
#include <memory>
#include <vector>

#include <string_view>

#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "tests/support/at_sync_point.h"

namespace granary::kvstore::remote {
namespace {

constexpr std::uint64_t kOneSet = LocationCache::kEntriesOfSet * LocationCache::kEntryBytes;

Location location_of(std::uint64_t key) { return Location((key + 1) * 64, key % 100); }

TEST(LocationCache, HasAsManyEntriesAsFit) {
  EXPECT_EQ(LocationCache(16 << 20).entries(), std::uint64_t{1} << 20) << "slide 47: 16 MB are a million entries";
  EXPECT_EQ(LocationCache(0).entries(), LocationCache::kEntriesOfSet);
}

TEST(LocationCache, KeepsEveryBitOfALocation) {
  LocationCache cache(kOneSet);
  LocationCacheCounters worker;
  const Location far((std::uint64_t{1} << 48) - 8, (1 << 14) - 1);
  cache.remember(~std::uint64_t{0}, far, worker);
  cache.remember(0, Location(0, 0), worker);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(cache.find(~std::uint64_t{0}, worker), far);
    EXPECT_EQ(cache.find(0, worker), Location(0, 0));
  }
  EXPECT_EQ(cache.find(1, worker), std::nullopt);
}

TEST(LocationCache, KeepsTheLatestLocationOfAKey) {
  LocationCache cache(kOneSet);
  LocationCacheCounters worker;
  cache.remember(5, location_of(5), worker);
  cache.remember(5, location_of(6), worker);
  EXPECT_EQ(cache.find(5, worker), location_of(6));
  cache.forget(5, location_of(6), worker);
  EXPECT_EQ(cache.find(5, worker), std::nullopt) << "there was one entry only";
}

TEST(LocationCache, ForgetsOnlyWhatWasStale) {
  LocationCache cache(kOneSet);
  LocationCacheCounters worker;
  cache.remember(5, location_of(6), worker);
  cache.forget(5, location_of(5), worker);
  EXPECT_EQ(cache.find(5, worker), location_of(6)) << "another worker has looked it up again";
  const Location other_incarnation(location_of(6).offset(), location_of(6).incarnation() + 1);
  cache.forget(5, other_incarnation, worker);
  EXPECT_EQ(cache.find(5, worker), location_of(6));
}

TEST(LocationCache, AUseDoesNotBringBackWhatAnotherWorkerForgetsMeanwhile) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  LocationCache cache(kOneSet);
  LocationCacheCounters worker;
  cache.remember(5, location_of(5), worker);
  {
    const tests::AtSyncPoint at("location_cache.found", [&] { cache.forget(5, location_of(5), worker); });
    EXPECT_EQ(cache.find(5, worker), location_of(5));
  }
  EXPECT_EQ(cache.find(5, worker), std::nullopt);
}

TEST(LocationCache, KeepsWhatIsUsedWhenManyPassBy) {
  LocationCache cache(kOneSet);
  LocationCacheCounters worker;
  cache.remember(1, location_of(1), worker);
  for (std::uint64_t stranger = 100; stranger < 400; ++stranger) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cache.find(1, worker), location_of(1));
    cache.remember(stranger, location_of(stranger), worker);
  }
}

TEST(LocationCache, LetsWhatWasUsedGoInTheEnd) {
  LocationCache cache(kOneSet);
  LocationCacheCounters worker;
  for (std::uint64_t key = 0; key < 8; ++key) {
    cache.remember(key, location_of(key), worker);
    for (int i = 0; i < 20; ++i) cache.find(key, worker);
  }
  for (std::uint64_t round = 0; round < 100; ++round) {
    for (std::uint64_t key = 100; key < 108; ++key) {
      if (!cache.find(key, worker)) cache.remember(key, location_of(key), worker);
    }
  }
  std::uint64_t old_ones = 0;
  for (std::uint64_t key = 0; key < 8; ++key) old_ones += cache.find(key, worker) ? 1 : 0;
  EXPECT_LT(old_ones, 3u);
}

TEST(LocationCache, AnEntryThatIsHalfReplacedIsNobodys) {
  LocationCache cache(kOneSet);
  LocationCacheCounters worker;
  for (std::uint64_t key = 0; key < 8; ++key) cache.remember(key, location_of(key), worker);
  int looks = 0;
  base::set_sync_hook([&](std::string_view point) {
    if (point != "location_cache.half_stored") return;
    ++looks;
    EXPECT_EQ(cache.find(100, worker), std::nullopt);
    for (std::uint64_t key = 0; key < 8; ++key) {
      const auto found = cache.find(key, worker);
      EXPECT_TRUE(!found || *found == location_of(key));
    }
  });
  cache.remember(100, location_of(100), worker);
  base::set_sync_hook({});
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(cache.find(100, worker), location_of(100));
}

TEST(LocationCache, TwoKeysThatTakeOneEntryAtOnceNeverGetEachOthersLocation) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  LocationCache cache(kOneSet);
  LocationCacheCounters worker;
  for (std::uint64_t key = 0; key < 8; ++key) cache.remember(key, location_of(key), worker);
  for (std::uint64_t key = 1; key < 8; ++key) {
    for (int i = 0; i < 7; ++i) cache.find(key, worker);  // so that both choose the entry of key 0
  }
  {
    const tests::AtSyncPoint at("location_cache.half_stored", [&] { cache.remember(200, location_of(200), worker); });
    cache.remember(100, location_of(100), worker);
  }
  for (const std::uint64_t key : {100, 200}) {
    const auto found = cache.find(key, worker);
    EXPECT_TRUE(!found || *found == location_of(key)) << key;
  }
}

TEST(LocationCache, CountsWhatHappened) {
  LocationCache cache(kOneSet);
  LocationCacheCounters worker, other;
  EXPECT_EQ(cache.find(1, worker), std::nullopt);
  cache.remember(1, location_of(1), worker);
  EXPECT_NE(cache.find(1, other), std::nullopt) << "shared";
  cache.forget(1, location_of(1), other);
  for (std::uint64_t key = 10; key < 19; ++key) cache.remember(key, location_of(key), worker);
  EXPECT_EQ(worker.misses.load(), 1u);
  EXPECT_EQ(worker.hits.load(), 0u);
  EXPECT_EQ(worker.replacements.load(), 1u) << "nine into a set of eight";
  EXPECT_EQ(other.hits.load(), 1u);
  EXPECT_EQ(other.stale.load(), 1u);
}

// --- caches that grow ---

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(GrowingLocationCache, TakesMemoryAsItIsUsed) {
  LocationBudget budget(std::uint64_t{1} << 30);
  const std::uint64_t before = resident_bytes();
  std::vector<std::unique_ptr<LocationCache>> caches;
  for (int i = 0; i < 300; ++i) caches.push_back(std::make_unique<LocationCache>(budget));
  LocationCacheCounters worker;
  for (const auto& cache : caches) {
    for (std::uint64_t key = 0; key < 50; ++key) cache->remember(key, location_of(key), worker);
  }
  EXPECT_LT(resident_bytes() - before, std::uint64_t{8} << 20) << "300 tables of which little is known";
  for (const auto& cache : caches) EXPECT_EQ(cache->entries() * LocationCache::kEntryBytes, LocationCache::kFirstBytes);
}

TEST(GrowingLocationCache, HoldsWhatIsAskedForAgain) {
  constexpr std::uint64_t kKeys = 50'000;
  LocationBudget budget(std::uint64_t{16} << 20);
  LocationCache cache(budget);
  LocationCacheCounters worker;
  for (int round = 0; round < 20; ++round) {
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      if (const auto found = cache.find(key, worker)) {
        EXPECT_EQ(*found, location_of(key));
      } else {
        cache.remember(key, location_of(key), worker);
      }
    }
  }
  std::uint64_t held = 0;
  for (std::uint64_t key = 0; key < kKeys; ++key) held += cache.find(key, worker).has_value() ? 1 : 0;
  EXPECT_GT(held, kKeys * 9 / 10);
  EXPECT_LE(cache.entries(), 8 * kKeys) << "and not much more than it needs";
}

TEST(GrowingLocationCache, AllOfANodeStayWithinOneBudget) {
  constexpr std::uint64_t kBudget = std::uint64_t{1} << 20;
  LocationBudget budget(kBudget);
  const auto bytes = [](const LocationCache& cache) { return cache.entries() * LocationCache::kEntryBytes; };
  LocationCacheCounters worker;
  {
    LocationCache first(budget), second(budget);
    for (std::uint64_t key = 0; key < 500'000; ++key) {
      first.remember(key, location_of(key), worker);
      second.remember(key, location_of(key), worker);
    }
    EXPECT_GT(bytes(first) + bytes(second), kBudget / 4);
    EXPECT_LE(bytes(first) + bytes(second), kBudget + 2 * LocationCache::kFirstBytes);
    for (std::uint64_t key = 499'990; key < 500'000; ++key) EXPECT_EQ(second.find(key, worker), location_of(key));
  }
  EXPECT_TRUE(budget.take(kBudget)) << "who is gone has given its part back";
}

}  // namespace
}  // namespace granary::kvstore::remote
