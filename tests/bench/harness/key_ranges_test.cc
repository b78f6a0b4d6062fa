#include "bench/harness/key_ranges.h"

#include <gtest/gtest.h>

namespace granary::bench {
namespace {

TEST(KeyRanges, HoldEveryKeyOnce) {
  for (const std::uint64_t count : {1u, 2u, 7u, 100u, 101u}) {
    for (std::uint32_t parts = 1; parts <= count && parts < 9; ++parts) {
      const KeyRanges ranges(count, parts);
      std::uint64_t next = 0;
      for (std::uint32_t part = 0; part < parts; ++part) {
        EXPECT_EQ(ranges[part].from, next);
        EXPECT_LE(ranges[part].size(), ranges.most());
        for (; next < ranges[part].to; ++next) EXPECT_EQ(ranges.part_of(next), part) << count << " in " << parts;
        EXPECT_NEAR(static_cast<double>(ranges[part].size()), static_cast<double>(count) / parts, 1);
      }
      EXPECT_EQ(next, count);
    }
  }
}

}  // namespace
}  // namespace granary::bench
