// Parts of one value, merged in every order of a few and in random orders of many, against a plain array of bytes and
// TIDs.

#include "recovery/merged_parts.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::recovery {
namespace {

struct Part {
  record::TidWord tid = 0;
  std::uint32_t from = 0;
  std::string bytes;
};

record::TidWord nth_tid(std::uint64_t sequence) { return record::make_tid(3, sequence); }

MergedParts merged(const std::vector<Part>& parts, std::uint32_t whole_bytes) {
  MergedParts all;
  for (const Part& part : parts) all.add(part.tid, {part.from, whole_bytes}, part.bytes);
  return all;
}

/// What the parts that are newer make of a value.
std::string over(std::string value, record::TidWord base, const MergedParts& parts) {
  std::uint32_t last = 0;
  parts.each_newer(base, [&](std::uint32_t from, std::string_view bytes) {
    EXPECT_LE(last, from) << "stretches overlap, or are out of order";
    EXPECT_FALSE(bytes.empty());
    last = from + static_cast<std::uint32_t>(bytes.size());
    value.replace(from, bytes.size(), bytes);
  });
  return value;
}

/// The same, written in the order of the TIDs.
std::string expected(std::string value, record::TidWord base, std::vector<Part> parts) {
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.tid < b.tid; });
  for (const Part& part : parts) {
    if (part.tid > base) value.replace(part.from, part.bytes.size(), part.bytes);
  }
  return value;
}

void expect_merged(const std::vector<Part>& parts, const std::string& value, record::TidWord base) {
  const auto size = static_cast<std::uint32_t>(value.size());
  const MergedParts all = merged(parts, size);
  ASSERT_EQ(over(value, base, all), expected(value, base, parts));
  record::TidWord newest = 0;
  for (const Part& part : parts) newest = std::max(newest, part.tid);
  ASSERT_EQ(all.newest(), newest);
  ASSERT_EQ(all.any_newer(base), newest > base);
  ASSERT_TRUE(all.fit(base, size));
  ASSERT_EQ(all.fit(base, size + 1), newest <= base);
}

TEST(MergedParts, InEveryOrderOfAFew) {
  // Each relation that two ranges can have: apart, side by side, reaching in, within, around, the same.
  std::vector<Part> parts = {{nth_tid(1), 2, "aaaa"}, {nth_tid(2), 4, "bbbb"}, {nth_tid(3), 3, "c"},
                             {nth_tid(4), 2, "dddd"}, {nth_tid(5), 0, "eee"},  {nth_tid(6), 8, "ff"},
                             {nth_tid(7), 5, "ggg"}};
  const auto by_tid = [](const Part& a, const Part& b) { return a.tid < b.tid; };
  do {
    for (std::uint64_t base = 0; base <= parts.size(); ++base) {
      ASSERT_NO_FATAL_FAILURE(expect_merged(parts, "0123456789", nth_tid(base)));
    }
  } while (std::next_permutation(parts.begin(), parts.end(), by_tid));
}

TEST(MergedParts, ManyInRandomOrders) {
  for (const std::uint64_t seed : tests::seeds(tests::scaled(300))) {
    base::Random random(seed);
    const std::size_t size = 1 + random.below(seed % 2 == 0 ? 30 : 400);
    std::vector<Part> parts;
    for (std::uint64_t i = 1; i <= 1 + random.below(200); ++i) {
      const std::uint64_t from = random.below(size);
      parts.push_back({nth_tid(i), static_cast<std::uint32_t>(from),
                       std::string(1 + random.below(size - from), static_cast<char>('a' + random.below(26)))});
    }
    for (std::size_t i = parts.size() - 1; i != 0; --i) std::swap(parts[i], parts[random.below(i + 1)]);
    if (random.below(2) == 0) parts.insert(parts.end(), parts.begin(), parts.begin() + 1);  // an entry in log and ring
    ASSERT_NO_FATAL_FAILURE(expect_merged(parts, std::string(size, '-'), nth_tid(random.below(parts.size() + 1))))
        << "seed " << seed;
  }
}

TEST(MergedParts, TakeNoMoreMemoryThanTheValueAsksFor) {
  base::Random random(1);
  constexpr std::size_t kSize = 64;
  MergedParts parts;
  for (std::uint64_t i = 1; i < 20'000; ++i) {
    const std::uint64_t from = random.below(kSize);
    parts.add(nth_tid(1 + random.below(1 << 20)), {static_cast<std::uint32_t>(from), kSize},
              std::string(1 + random.below(kSize - from), 'x'));
    ASSERT_LE(parts.memory_bytes(), kSize * 100);
  }
  parts.add(nth_tid(std::uint64_t{1} << 20), {0, kSize}, std::string(kSize, 'y'));
  EXPECT_EQ(over(std::string(kSize, '-'), 0, parts), std::string(kSize, 'y'));
  EXPECT_LE(parts.memory_bytes(), kSize + 100) << "one part is left of all";
}

TEST(MergedParts, FitOnlyAValueOfTheirSize) {
  MergedParts parts;
  parts.add(nth_tid(1), {0, 8}, "old");
  parts.add(nth_tid(5), {6, 20}, "new");
  EXPECT_TRUE(parts.fit(nth_tid(1), 20)) << "the other is older than the value";
  EXPECT_FALSE(parts.fit(nth_tid(1), 8));
  EXPECT_FALSE(parts.fit(0, 20));
  EXPECT_TRUE(parts.fit(nth_tid(5), 3)) << "both are";
}

}  // namespace
}  // namespace granary::recovery
