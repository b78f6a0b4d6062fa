// Random: the published generator, bounds, uniformity, independent streams. Zipf: popularity against theory.

#include "src/base/random.h"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/zipf.h"

namespace granary::base {
namespace {

TEST(Random, SplitmixGivesThePublishedSequence) {
  std::uint64_t state = 1234567;  // reference values of splitmix64.c for this seed
  EXPECT_EQ(splitmix64(state), 6457827717110365317u);
  EXPECT_EQ(splitmix64(state), 3203168211198807973u);
  EXPECT_EQ(splitmix64(state), 9817491932198370423u);
}

TEST(Random, SameSeedSameSequenceOtherStreamOther) {
  Random one(5, 1), same(5, 1), other(5, 2);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = one.next();
    EXPECT_EQ(value, same.next());
    seen.insert(value);
    seen.insert(other.next());
  }
  EXPECT_EQ(seen.size(), 2000u);
}

TEST(Random, BelowIsUniform) {
  Random random(1);
  constexpr std::uint64_t kBound = 7;
  std::vector<int> counts(kBound);
  for (int i = 0; i < 70000; ++i) ++counts[random.below(kBound)];
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
  EXPECT_LT(chi_square, 22.5);  // 6 degrees of freedom, p = 0.001
}

TEST(Random, BetweenReachesBothEndsAndNoFurther) {
  Random random(2);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.between(-3, 3));
  EXPECT_EQ(*seen.begin(), -3);
  EXPECT_EQ(*seen.rbegin(), 3);
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(random.between(9, 9), 9);
  const std::int64_t any =
      random.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  EXPECT_NE(any, random.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
}

TEST(Random, UnitStaysBelowOne) {
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

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
}  // namespace granary::base
