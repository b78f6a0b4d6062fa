// These tests sweep the main header of a real table, and look at what the location cache knows then and at when the
// sweep is made once more.

#include "kvstore/remote/header_sweep.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kvstore/hash/table_fixture.h"

namespace granary::kvstore::remote {
namespace {

using hash::test::number_key;

constexpr std::uint64_t kBuckets = 100;  // whose last piece is short
constexpr std::uint64_t kKeys = 400;

class Sweep : public testing::Test {
 protected:
  void fill(std::uint64_t keys) {
    for (std::uint64_t i = 0; i < keys; ++i) ASSERT_TRUE(owned_.insert(number_key(i), i));
  }
  /// Takes pieces until there is none left, as they are in the table. Returns how many there were.
  std::uint64_t sweep() {
    std::uint64_t pieces = 0;
    while (const auto piece = sweep_.next()) {
      copy(*piece);
      sweep_.take(*piece, buckets_.data());
      ++pieces;
    }
    return pieces;
  }
  void copy(std::uint64_t piece) {
    std::vector<rdma::Operation> chain;
    sweep_.append(piece, buckets_.data(), chain);
    ASSERT_EQ(chain.size(), 1u);
    ASSERT_LE(chain[0].remote.offset + chain[0].bytes, kBuckets * sizeof(hash::Bucket));
    std::memcpy(buckets_.data(), static_cast<const char*>(owned_.pool.region->base()) + chain[0].remote.offset,
                chain[0].bytes);
  }
  std::optional<Location> find(std::uint64_t number) {
    return cache_.find(hash::HashedKey(number_key(number)).word, counters_);
  }
  std::uint64_t known(std::uint64_t keys) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < keys; ++i) {
      const auto place = find(i);
      if (!place) continue;
      EXPECT_EQ(place->offset(), owned_.value(i) - table_.owner_base);
      ++count;
    }
    return count;
  }

  hash::test::Fixture owned_{kBuckets};
  const RemoteTable table_{.main = {.node = 1, .region = 1, .generation = 1, .offset = 0},
                           .buckets = kBuckets,
                           .owner_base = reinterpret_cast<std::uint64_t>(owned_.pool.region->base())};
  LocationBudget budget_{1 << 20};
  LocationCache cache_{budget_};
  HeaderSweep sweep_{table_, cache_};
  LocationCacheCounters counters_;
  std::array<hash::Bucket, HeaderSweep::kPieceBuckets> buckets_;
};

TEST_F(Sweep, TeachesNearlyAllKeysInOnePieceForSixteenBuckets) {
  fill(kKeys);
  EXPECT_EQ(sweep(), 7u);
  EXPECT_GE(known(kKeys), kKeys * 9 / 10);  // the others are behind links, or their sets were full
  EXPECT_EQ(counters_.replacements.load(), 0u);
}

TEST_F(Sweep, MakesTheCacheAsLargeAsTheTableNeeds) {
  fill(kKeys);
  const std::uint64_t before = cache_.entries();
  sweep();
  EXPECT_GT(cache_.entries(), before);
  EXPECT_LE(cache_.entries(), 4 * kKeys);
}

TEST_F(Sweep, EndsWhenTheTableDoesNotFit) {
  fill(kKeys);
  LocationBudget none(0);
  LocationCache small(none);
  HeaderSweep sweep(table_, small);
  const auto piece = sweep.next();
  ASSERT_TRUE(piece);
  copy(*piece);
  sweep.take(*piece, buckets_.data());
  EXPECT_FALSE(sweep.next());
  for (std::uint64_t i = 0; i < 10'000; ++i) sweep.found_unknown();
  EXPECT_FALSE(sweep.next()) << "it was begun once more";
}

TEST_F(Sweep, LeavesAnEntryThatIsThereAsItIs) {
  fill(kKeys);
  const Location other(8, 1);
  const std::uint64_t word = hash::HashedKey(number_key(3)).word;
  ASSERT_TRUE(cache_.reserve(kKeys));
  cache_.remember(word, other, counters_);
  sweep();
  EXPECT_EQ(find(3), other);
}

TEST_F(Sweep, TakesNothingOfALineThatWasBeingChanged) {
  fill(kKeys);
  copy(*sweep_.next());
  for (hash::Bucket& bucket : buckets_) {
    bucket.lines[0].opened += 2;  // the change came in between
    bucket.lines[1].opened = bucket.lines[1].closed = 1;
    bucket.lines[2].opened += 2;
  }
  sweep_.take(0, buckets_.data());
  EXPECT_EQ(known(kKeys), 0u);
}

TEST_F(Sweep, TakesTheOtherLinesOfBucketsThatWereBeingChanged) {
  fill(kKeys);
  copy(*sweep_.next());
  std::uint64_t whole = 0;
  for (hash::Bucket& bucket : buckets_) {
    bucket.lines[1].opened += 2;
    for (const unsigned number : {0u, 2u}) {
      for (unsigned slot = 0; slot < hash::slots_in(number); ++slot)
        whole += hash::Entry(bucket.lines[number].slots[slot].entry).type() == hash::EntryType::kRecord ? 1 : 0;
    }
  }
  sweep_.take(0, buckets_.data());
  EXPECT_EQ(known(kKeys), whole);
}

TEST_F(Sweep, IsMadeOnceMoreWhenLookupsFindManyUnknownKeys) {
  EXPECT_EQ(sweep(), 7u);
  fill(kKeys);
  for (std::uint64_t i = 1; i < 7 * HeaderSweep::kLookupsOfPiece; ++i) {
    sweep_.found_unknown();
    ASSERT_FALSE(sweep_.next()) << i;
  }
  sweep_.found_unknown();
  EXPECT_EQ(sweep(), 7u);
  EXPECT_GE(known(kKeys), kKeys * 9 / 10);
}

TEST(LocationCacheOffer, MakesNoRoom) {
  LocationCache cache(LocationCache::kEntryBytes * LocationCache::kEntriesOfSet);
  LocationCacheCounters counters;
  for (std::uint64_t key = 1; key <= LocationCache::kEntriesOfSet; ++key) cache.offer(key, Location(key * 8, 0));
  cache.offer(100, Location(800, 0));
  EXPECT_FALSE(cache.find(100, counters));
  for (std::uint64_t key = 1; key <= LocationCache::kEntriesOfSet; ++key) EXPECT_TRUE(cache.find(key, counters)) << key;
}

/// Some of the sets are full, and the others have room.
TEST(LocationCacheOffer, TakesNothingFromWhatIsRemembered) {
  constexpr std::uint64_t kSets = 16, kRemembered = kSets * LocationCache::kEntriesOfSet;
  LocationCache cache(kSets * LocationCache::kEntriesOfSet * LocationCache::kEntryBytes);
  LocationCacheCounters counters;
  for (std::uint64_t key = 1; key <= kRemembered; ++key) cache.remember(key, Location(key * 8, 0), counters);
  std::vector<std::uint64_t> remembered;
  for (std::uint64_t key = 1; key <= kRemembered; ++key) {
    if (cache.find(key, counters)) remembered.push_back(key);
  }
  EXPECT_LT(remembered.size(), kRemembered) << "no set is full";
  for (std::uint64_t key = 10 * kRemembered; key <= 20 * kRemembered; ++key) cache.offer(key, Location(key * 8, 0));
  for (const std::uint64_t key : remembered) EXPECT_TRUE(cache.find(key, counters)) << key;
}

TEST(LocationCacheOffer, IsTheFirstToMakeRoom) {
  LocationCache cache(LocationCache::kEntryBytes * LocationCache::kEntriesOfSet);
  LocationCacheCounters counters;
  for (std::uint64_t key = 1; key < LocationCache::kEntriesOfSet; ++key)
    cache.remember(key, Location(key * 8, 0), counters);
  cache.offer(100, Location(800, 0));
  cache.remember(200, Location(1600, 0), counters);
  EXPECT_FALSE(cache.find(100, counters));
  EXPECT_TRUE(cache.find(1, counters));
}

}  // namespace
}  // namespace granary::kvstore::remote
