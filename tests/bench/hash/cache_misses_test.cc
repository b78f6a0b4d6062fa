// The location cache's misses on a scaled-down load of slide 48. Not covered: threads (tests/kvstore/remote).

#include <gtest/gtest.h>

#include "bench/hash/cache_misses.h"

namespace granary::bench::hash {
namespace {

TEST(CacheMisses, AreNearThoseOfACacheThatKnowsThePopularities) {
  const CacheMisses counted = count_cache_misses({.keys = 100'000, .lookups = 2'000'000});
  RecordProperty("misses_per_lookup", std::to_string(counted.per_lookup()));
  RecordProperty("oracle_per_lookup", std::to_string(counted.oracle_per_lookup()));
  RecordProperty("slide_48", std::to_string(kSlideCacheCost));
  EXPECT_LE(counted.of_oracle(), 1.45) << counted.per_lookup() << " against " << counted.oracle_per_lookup();
  EXPECT_GE(counted.of_oracle(), 1.0) << "or the oracle is none";
}

TEST(CacheMisses, AreNearlyAllLookupsWhenNothingIsPopular) {
  const CacheMisses counted = count_cache_misses({.keys = 16'000, .lookups = 200'000, .theta = 0});
  EXPECT_NEAR(counted.per_lookup(), 15.0 / 16, 0.02);
}

TEST(CacheMisses, AreTheSameForTheSameSeed) {
  const CacheLoad load{.keys = 10'000, .lookups = 100'000, .seed = 7};
  EXPECT_EQ(count_cache_misses(load).misses, count_cache_misses(load).misses);
}

}  // namespace
}  // namespace granary::bench::hash
