// Popularity against theory.

#include "bench/harness/zipf.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace granary::bench {
namespace {

using base::Random;

void expect_all_places(std::uint64_t items) {
  const Shuffle shuffle(items);
  std::vector<bool> taken(items);
  for (std::uint64_t number = 0; number < items; ++number) {
    const std::uint64_t place = shuffle.place_of(number);
    ASSERT_LT(place, items);
    ASSERT_FALSE(taken[place]) << "two of " << items << " numbers are at " << place;
    taken[place] = true;
  }
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
  const std::size_t hottest = Shuffle(1000).place_of(0);
  for (const int count : counts) EXPECT_LE(count, counts[hottest]);
}

TEST(Shuffle, GivesEachNumberAPlaceOfItsOwn) {
  for (std::uint64_t items = 1; items <= 300; ++items) expect_all_places(items);
  for (const std::uint64_t items : {1000u, 4095u, 4096u, 4097u, 65536u, 1000003u}) expect_all_places(items);
}

/// Popular items are not side by side, and each part of the range has its share of them.
TEST(Shuffle, SpreadsNeighbours) {
  for (const std::uint64_t items : {100'000u, 1u << 20, 10'000'000u}) {
    const Shuffle shuffle(items);
    std::vector<std::uint64_t> places;
    std::vector<int> parts(10);
    for (std::uint64_t number = 0; number < 1000; ++number) {
      places.push_back(shuffle.place_of(number));
      ++parts[places.back() * parts.size() / items];
    }
    std::sort(places.begin(), places.end());
    int neighbours = 0;
    for (std::size_t i = 1; i < places.size(); ++i) neighbours += places[i] - places[i - 1] == 1 ? 1 : 0;
    EXPECT_LE(neighbours, 30) << items;
    for (const int part : parts) EXPECT_NEAR(part, 100, 50) << items;
  }
}

TEST(Zipf, ScrambledReachesAllItems) {
  constexpr std::uint64_t kItems = 100;
  for (const double theta : {0.0, 0.5}) {
    const Zipf zipf(kItems, theta);
    Random random(7);
    std::vector<int> counts(kItems);
    for (int i = 0; i < 100000; ++i) ++counts[zipf.next_scrambled(random)];
    EXPECT_EQ(std::count(counts.begin(), counts.end(), 0), 0) << theta;
  }
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
