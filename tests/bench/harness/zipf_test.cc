// Popularity against theory.

#include "bench/harness/zipf.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace granary::bench {
namespace {

using base::Random;

TEST(Zipf, PopularityFollowsTheLaw) {
  constexpr std::uint64_t kItems = 1000;
  constexpr int kDraws = 1000000;
  for (const double theta : {0.5, 0.8, 0.99}) {
    const Zipf zipf(kItems, theta);
    Random random(4);
    std::vector<int> counts(kItems);
    for (int i = 0; i < kDraws; ++i) ++counts[zipf.next(random)];
    const double zeta = Zipf::zeta(kItems, theta);
    for (const std::uint64_t rank : {0u, 1u}) {  // Gray's method is exact for the first two ranks
      const double expected = kDraws / std::pow(static_cast<double>(rank + 1), theta) / zeta;
      EXPECT_NEAR(counts[rank], expected, 5 * std::sqrt(expected)) << "theta " << theta << " rank " << rank;
    }
    double seen = 0, law = 0;  // and approximate beyond: compare cumulated shares
    for (std::uint64_t rank = 0; rank < 100; ++rank) {
      seen += counts[rank];
      law += kDraws / std::pow(static_cast<double>(rank + 1), theta) / zeta;
    }
    EXPECT_NEAR(seen / law, 1.0, 0.03) << "theta " << theta;
  }
}

TEST(Zipf, ThetaZeroIsUniform) {
  const Zipf zipf(10, 0);
  Random random(5);
  std::vector<int> counts(10);
  for (int i = 0; i < 100000; ++i) ++counts[zipf.next(random)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Zipf, ScrambledMovesTheHotItemAndStaysInRange) {
  const Zipf zipf(1000, 0.99);
  Random random(6);
  std::vector<int> counts(1000);
  for (int i = 0; i < 100000; ++i) ++counts[zipf.next_scrambled(random)];
  const std::size_t hottest = Zipf::fnv1a(0) % 1000;
  for (const int count : counts) EXPECT_LE(count, counts[hottest]);
}

TEST(Zipf, TinyRanges) {
  Random random(8);
  for (const std::uint64_t items : {1u, 2u, 3u}) {
    const Zipf zipf(items, 0.9);
    for (int i = 0; i < 1000; ++i) EXPECT_LT(zipf.next(random), items);
  }
}

}  // namespace
}  // namespace granary::bench
