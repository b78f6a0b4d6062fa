// One thread on the leaf cache: what is found, replaced, forgotten, and makes room. Not covered: threads
// (tests/cluster, under sanitizers).

#include "kvstore/remote/leaf_cache.h"

#include <gtest/gtest.h>

#include "tests/support/allocations.h"

namespace granary::kvstore::remote {
namespace {

Position at(std::uint64_t slice) { return {slice, 8}; }
KnownLeaf leaf(std::uint64_t low, std::uint64_t high, std::uint64_t offset, std::uint32_t birth = 1) {
  return {.range = {.low = at(low), .high = at(high), .birth = birth}, .offset = offset};
}

class LeafCaches : public testing::Test {
 protected:
  std::uint64_t found(std::uint64_t slice) {
    const auto known = cache_.find(at(slice), worker_);
    return known ? known->offset : 0;
  }
  LocationBudget budget_{10 * LeafCache::kEntryBytes};
  LeafCache cache_{budget_};
  LeafCacheCounters worker_;
};

TEST_F(LeafCaches, FindTheLeafThatCoversAPlace) {
  EXPECT_EQ(found(15), 0u);
  cache_.learn(leaf(10, 20, 640));
  cache_.learn(leaf(30, 40, 1280));
  EXPECT_EQ(found(9), 0u);
  EXPECT_EQ(found(10), 640u);
  EXPECT_EQ(found(19), 640u);
  EXPECT_EQ(found(20), 0u) << "the upper end is the next leaf's";
  EXPECT_EQ(found(35), 1280u);
  EXPECT_EQ(worker_.hits, 3u);
  EXPECT_EQ(worker_.misses, 3u);
}

TEST_F(LeafCaches, KnowTheLatestOfALeaf) {
  cache_.learn(leaf(10, 20, 640));
  cache_.learn(leaf(10, 15, 640));
  EXPECT_EQ(found(12), 640u);
  EXPECT_EQ(found(17), 0u) << "it has split";
  const KnownLeaf former = leaf(10, 15, 640);
  cache_.learn(leaf(10, 20, 640, /*birth=*/2));
  cache_.forget(former, worker_);
  EXPECT_EQ(found(12), 640u) << "another one has been learnt since";
  cache_.forget(leaf(10, 15, 640, 2), worker_);
  EXPECT_EQ(found(12), 0u);
  EXPECT_EQ(worker_.stale, 2u);
}

TEST_F(LeafCaches, RefuseWhatIsNoLeaf) {
  cache_.learn(leaf(10, 20, 648));
  cache_.learn(leaf(20, 10, 640));
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_F(LeafCaches, LeaveHalfOfTheBudgetToOthers) {
  constexpr std::size_t kMost = LeafCache::kFreeEntries + 6;
  for (std::uint64_t i = 1; i <= 3 * kMost; ++i) {
    cache_.learn(leaf(10 * i, 10 * i + 10, 64 * i));
    EXPECT_EQ(found(10 * i), 64 * i) << "what is new stays for a while";
    EXPECT_LE(cache_.size(), kMost);
  }
  EXPECT_EQ(cache_.size(), kMost);
  EXPECT_EQ(budget_.left(), 4 * LeafCache::kEntryBytes);
  for (std::uint64_t i = 1; i <= 3 * kMost; ++i) cache_.forget(leaf(10 * i, 10 * i + 10, 64 * i), worker_);
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(budget_.left(), budget_.bytes());
}

TEST(LeafCacheBudget, IsGivenBack) {
  LocationBudget budget(10 * LeafCache::kEntryBytes);
  {
    LeafCache cache(budget);
    for (std::uint64_t i = 0; i < LeafCache::kFreeEntries + 5; ++i) cache.learn(leaf(10 * i, 10 * i + 10, 64 * i));
    EXPECT_EQ(budget.left(), 5 * LeafCache::kEntryBytes);
  }
  EXPECT_EQ(budget.left(), budget.bytes());
}

TEST(LeafCacheBudget, IsGivenBackForALeafThatTheSystemHasNoMemoryFor) {
  if (!granary::tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  constexpr std::uint64_t kBudget = 10'000 * LeafCache::kEntryBytes;
  LocationBudget budget(kBudget);
  {
    LeafCache cache(budget);
    granary::tests::no_memory = true;
    EXPECT_NO_THROW(for (std::uint64_t i = 0; i < 100; ++i) cache.learn(leaf(10 * i, 10 * i + 10, 64 * i)));
    granary::tests::no_memory = false;
    EXPECT_EQ(cache.size(), 0u);
    for (std::uint64_t i = 0; i < 100; ++i) cache.learn(leaf(10 * i, 10 * i + 10, 64 * i));
    granary::tests::no_memory = true;
    EXPECT_NO_THROW(for (std::uint64_t i = 100; i < 4000; ++i) cache.learn(leaf(10 * i, 10 * i + 10, 64 * i)));
    granary::tests::no_memory = false;
    EXPECT_LT(cache.size(), 4000u);
    EXPECT_EQ(kBudget - budget.left(), (cache.size() - LeafCache::kFreeEntries) * LeafCache::kEntryBytes);
  }
  EXPECT_EQ(budget.left(), kBudget);
}

}  // namespace
}  // namespace granary::kvstore::remote
