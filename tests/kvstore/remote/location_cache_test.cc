// One thread on the location cache: what is remembered, replaced, forgotten, counted. Not covered: how good the
// replacement is (tests/bench/hash), threads (location_cache_stress_test).

#include "kvstore/remote/location_cache.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include <string_view>

#include <gtest/gtest.h>

#include "src/base/sanitizers.h"
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

/// The bytes of the process's address space, and those of them that are in memory.
struct Size {
  std::uint64_t all = 0, resident = 0;
};
Size process_size() {
  std::ifstream file("/proc/self/statm");
  Size size;
  file >> size.all >> size.resident;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {.all = size.all * page, .resident = size.resident * page};
}

/// While it lives, the system gives this process hardly any more address space.
class WithoutAddressSpace {
 public:
  WithoutAddressSpace() {
    constexpr std::uint64_t kForStackAndTest = 1 << 20;
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit now{.rlim_cur = process_size().all + kForStackAndTest, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &now), 0);
  }
  ~WithoutAddressSpace() { ::setrlimit(RLIMIT_AS, &before_); }
  WithoutAddressSpace(const WithoutAddressSpace&) = delete;

 private:
  rlimit before_{};
};

void remember_many(LocationCache& cache, LocationCacheCounters& worker) {
  for (std::uint64_t key = 0; key < 10'000; ++key) cache.remember(key, location_of(key), worker);
}

TEST(GrowingLocationCache, TakesMemoryAsItIsUsed) {
  LocationBudget budget(std::uint64_t{1} << 30);
  const std::uint64_t before = process_size().resident;
  std::vector<std::unique_ptr<LocationCache>> caches;
  for (int i = 0; i < 300; ++i) caches.push_back(std::make_unique<LocationCache>(budget));
  LocationCacheCounters worker;
  for (const auto& cache : caches) {
    for (std::uint64_t key = 0; key < 50; ++key) cache->remember(key, location_of(key), worker);
  }
  EXPECT_LT(process_size().resident - before, std::uint64_t{8} << 20) << "300 tables of which little is known";
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

/// The budget is the node's. If each cache reserved all of it, few tables would use up what a process can have.
TEST(GrowingLocationCache, TakesAddressSpaceAsItGrows) {
  LocationBudget budget(std::uint64_t{1} << 40);
  const std::uint64_t before = process_size().all;
  std::vector<std::unique_ptr<LocationCache>> caches;
  for (int i = 0; i < 300; ++i) caches.push_back(std::make_unique<LocationCache>(budget));
  EXPECT_LT(process_size().all - before, std::uint64_t{64} << 20);
  LocationCacheCounters worker;
  remember_many(*caches.front(), worker);
  const std::uint64_t has = caches.front()->entries() * LocationCache::kEntryBytes;
  EXPECT_GT(has, LocationCache::kFirstBytes);
  EXPECT_LT(process_size().all - before, (std::uint64_t{64} << 20) + 2 * has);
}

TEST(GrowingLocationCache, StaysSmallWhereTheSystemHasNoMemory) {
  if (base::kAddressSanitizer || base::kThreadSanitizer) GTEST_SKIP() << "sanitizers need address space";
  constexpr std::uint64_t kBudget = std::uint64_t{64} << 20;
  LocationBudget budget(kBudget);
  LocationCacheCounters worker;
  std::optional<LocationCache> early(std::in_place, budget), late;
  {
    const WithoutAddressSpace now;
    late.emplace(budget);
    EXPECT_EQ(late->entries(), LocationCache::kEntriesOfSet);
    for (LocationCache* const cache : {&*early, &*late}) {
      const std::uint64_t entries = cache->entries();
      remember_many(*cache, worker);
      EXPECT_FALSE(cache->reserve(10'000));
      EXPECT_EQ(cache->entries(), entries);
      EXPECT_EQ(cache->find(9'999, worker), location_of(9'999));
    }
    EXPECT_EQ(budget.left(), kBudget);
  }
  for (LocationCache* const cache : {&*early, &*late}) {
    EXPECT_TRUE(cache->reserve(10'000)) << "there is memory again";
    remember_many(*cache, worker);
    std::uint64_t held = 0;
    for (std::uint64_t key = 0; key < 10'000; ++key) held += cache->find(key, worker).has_value() ? 1 : 0;
    EXPECT_GT(held, 9'000u);
  }
  early.reset();
  late.reset();
  EXPECT_EQ(budget.left(), kBudget);
}

}  // namespace
}  // namespace granary::kvstore::remote
