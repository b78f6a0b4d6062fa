// Histogram against HdrHistogram's figures and against sorted values. Does not cover concurrent use: there is none.

#include "bench/harness/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/random.h"

namespace granary::bench {
namespace {

constexpr std::array<double, 10> kPercents{1, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100};

/// The generator that tests/bench/harness/hdr_histogram_reference.py repeats.
std::uint64_t step(std::uint64_t state) { return state * 6364136223846793005u + 1442695040888963407u; }

struct Reference {
  std::uint64_t (*value)(std::uint64_t state, std::uint64_t index);
  std::array<double, 10> percentiles;
  double mean;
};

// Made by tests/bench/harness/hdr_histogram_reference.py with PyPI's hdrhistogram 0.10.8, three significant digits:
// each figure is the top of a range of at most 0.1 %.
const Reference kUniform{[](std::uint64_t state, std::uint64_t) { return 1 + (state >> 33) % 1000000; },
                         {10015, 249983, 499711, 750591, 900095, 950783, 990207, 998911, 999935, 1000447},
                         499864.80049};
const Reference kWide{
    [](std::uint64_t state, std::uint64_t) { return 1 + ((state >> 24) >> ((state >> 58) & 31)); },
    {254, 49055, 8388607, 1519386623, 14990442495, 76906758143, 556198264831, 565861941247, 566935683071, 566935683071},
    18871892239.527786};
const Reference kTail{[](std::uint64_t state, std::uint64_t index) {
                        return 500 + (state >> 40) % 200 + (index % 1000 == 999 ? 1000000u : 0u);
                      },
                      {502, 550, 600, 650, 680, 690, 698, 699, 1000959, 1000959},
                      1599.5914};

void expect_like(const Reference& reference) {
  Histogram histogram;
  std::uint64_t state = 42;
  for (std::uint64_t i = 0; i < 200000; ++i) {
    state = step(state);
    histogram.record(reference.value(state, i));
  }
  EXPECT_EQ(histogram.count(), 200000u);
  EXPECT_NEAR(histogram.mean(), reference.mean, reference.mean * 0.001);
  for (std::size_t i = 0; i < kPercents.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(histogram.percentile(kPercents[i])), reference.percentiles[i],
                reference.percentiles[i] * 0.01)
        << "at " << kPercents[i] << " %";
  }
}

TEST(Histogram, AgreesWithHdrHistogramOnUniformValues) { expect_like(kUniform); }
TEST(Histogram, AgreesWithHdrHistogramOverNineDecades) { expect_like(kWide); }
TEST(Histogram, AgreesWithHdrHistogramOnALongTail) { expect_like(kTail); }

TEST(Histogram, BucketsTileTheRangeWithinOnePercent) {
  for (std::size_t bucket = 0; bucket + 1 < Histogram::kBuckets; ++bucket) {
    const std::uint64_t low = Histogram::bucket_low(bucket), high = Histogram::bucket_high(bucket);
    ASSERT_EQ(Histogram::bucket_of(low), bucket);
    ASSERT_EQ(Histogram::bucket_of(high), bucket);
    ASSERT_EQ(Histogram::bucket_of(high + 1), bucket + 1);
    ASSERT_LE(static_cast<double>(high - low), 0.01 * static_cast<double>(low + 1));
  }
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 200; ++value) histogram.record(value);
  EXPECT_EQ(histogram.percentile(50), 100u);
  EXPECT_EQ(histogram.percentile(99), 198u);
  EXPECT_EQ(histogram.min(), 1u);
  EXPECT_EQ(histogram.max(), 200u);
}

TEST(Histogram, MergeEqualsRecordingEverythingInOne) {
  Histogram all, one, other;
  base::Random random(7);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t value = random.below(std::uint64_t{1} << (1 + random.below(40)));
    all.record(value);
    (i % 3 == 0 ? one : other).record(value);
  }
  one.merge(other);
  EXPECT_EQ(one.count(), all.count());
  EXPECT_EQ(one.min(), all.min());
  EXPECT_EQ(one.max(), all.max());
  EXPECT_DOUBLE_EQ(one.mean(), all.mean());
  for (const double percent : kPercents) EXPECT_EQ(one.percentile(percent), all.percentile(percent));
}

TEST(Histogram, EmptyAndOverlong) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile(99), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.mean(), 0.0);
  histogram.record(~std::uint64_t{0} >> 1);
  EXPECT_EQ(histogram.max(), ~std::uint64_t{0} >> 1);
  EXPECT_EQ(histogram.percentile(50), histogram.max());
  histogram.reset();
  EXPECT_EQ(histogram.count(), 0u);
}

}  // namespace
}  // namespace granary::bench
