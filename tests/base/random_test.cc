// Random: the published generator, bounds, uniformity, independent streams.

#include "src/base/random.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace granary::base
