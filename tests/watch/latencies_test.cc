// Percentiles, differences and histogram steps of counted latencies; that a database counts them.

#include <gtest/gtest.h>

#include "src/watch/latencies.h"

namespace granary::watch {
namespace {

CommitLatencies counted(std::vector<CommitLatencies::Bucket> buckets) {
  CommitLatencies latencies{.buckets = std::move(buckets)};
  for (const auto& bucket : latencies.buckets) latencies.samples += bucket.count;
  return latencies;
}

TEST(Latencies, HavePercentiles) {
  const CommitLatencies latencies = counted({{1000, 50}, {2000, 49}, {50'000, 1}});
  EXPECT_EQ(percentile_us(latencies, 50), 1);
  EXPECT_EQ(percentile_us(latencies, 50.1), 2);
  EXPECT_EQ(percentile_us(latencies, 99), 2);
  EXPECT_EQ(percentile_us(latencies, 99.9), 50);
  EXPECT_EQ(percentile_us({}, 50), 0);
}

TEST(Latencies, OfTheTimeBetweenTwoLooks) {
  const CommitLatencies before = counted({{1000, 50}, {4000, 2}});
  const CommitLatencies now = counted({{1000, 50}, {2000, 7}, {4000, 3}, {8000, 1}});
  const CommitLatencies between = since(now, before);
  EXPECT_EQ(between.samples, 9u);
  ASSERT_EQ(between.buckets.size(), 3u);
  EXPECT_EQ(between.buckets[0].most_ns, 2000u);
  EXPECT_EQ(between.buckets[1].count, 1u);
  EXPECT_EQ(since(before, now).samples, before.samples) << "another database";
}

TEST(Latencies, HaveStepsThatOnlyGrow) {
  const auto steps = steps_of(counted({{90, 5}, {1'000'000, 2}, {20'000'000'000, 1}}));
  EXPECT_EQ(steps.front().count, 5u);
  EXPECT_EQ(steps.back().count, 7u) << "what is beyond the last bound is in +Inf only";
  for (std::size_t i = 1; i < steps.size(); ++i) {
    EXPECT_LE(steps[i - 1].count, steps[i].count);
    EXPECT_LT(steps[i - 1].most, steps[i].most);
  }
}

/// Most transactions on one node are that short.
TEST(Latencies, BelowAMicrosecondAreToldApart) {
  const auto steps = steps_of(counted({{90, 1}, {180, 2}, {450, 3}, {900, 4}}));
  const std::vector<std::pair<double, std::uint64_t>> expected = {{1e-7, 1}, {2e-7, 3}, {5e-7, 6}, {1e-6, 10}};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(std::pair(steps[i].most, steps[i].count), expected[i]) << i;
}

}  // namespace
}  // namespace granary::watch
