// What a region knows of its lines and stores by number, against std::map.

#include "htm/number_map.h"

#include <gtest/gtest.h>

#include <map>

#include "src/base/random.h"

namespace granary::htm {
namespace {

TEST(NumberMap, KeepsTheFirstIndexOfAKeyUntilItIsCleared) {
  NumberMap map;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.insert(0, 7), 7u);
  EXPECT_EQ(map.insert(0, 8), 7u);
  map.insert(0, 9) = 9;
  ASSERT_NE(map.find(0), nullptr);
  EXPECT_EQ(*map.find(0), 9u);
  map.clear();
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.insert(0, 3), 3u);
}

TEST(NumberMap, HoldsAnyKeysInManyRounds) {
  base::Random random(1, 0);
  NumberMap map;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    map.clear();
    std::map<std::uint64_t, std::uint32_t> expected;
    for (std::uint32_t i = 0; i < 100 * round; ++i) {
      // Lines and words lie together; some of these keys come again.
      const std::uint64_t key = 64 * (random.next() % (80 * round)) + (round << 40);
      EXPECT_EQ(map.insert(key, i), expected.emplace(key, i).first->second);
    }
    for (std::uint64_t i = 0; i < 80 * round; ++i) {
      const std::uint64_t key = 64 * i + (round << 40);
      const auto there = expected.find(key);
      const std::uint32_t* found = map.find(key);
      ASSERT_EQ(found != nullptr, there != expected.end());
      if (found != nullptr) {
        EXPECT_EQ(*found, there->second);
      }
    }
  }
}

}  // namespace
}  // namespace granary::htm
