// Covers which times count as with and without a checkpoint. Not that a checkpoint costs what it should: a benchmark's
// task.

#include <gtest/gtest.h>

#include "bench/harness/checkpoint_cost.h"

namespace granary::tests {
namespace {

using bench::CheckpointCost;

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(CheckpointCost, ComparesWholeIntervalsOnly) {
  CheckpointCost cost;
  cost.begin({.ns = 5 * kSecond, .requests = 1000, .seconds_in_progress = 3});
  cost.observe({.ns = 6 * kSecond, .requests = 1100, .seconds_in_progress = 3});        // none: 100 /s
  cost.observe({.ns = 7 * kSecond, .requests = 9999, .seconds_in_progress = 3.5});      // one begins
  cost.observe({.ns = 9 * kSecond, .requests = 10159, .seconds_in_progress = 5.4999});  // 80 /s
  EXPECT_DOUBLE_EQ(cost.throughput_without(), 100);
  EXPECT_DOUBLE_EQ(cost.throughput_during(), 80);
  EXPECT_DOUBLE_EQ(cost.ratio(), 0.8);
}

TEST(CheckpointCost, SaysNothingOfWhatItNeverSaw) {
  CheckpointCost cost;
  EXPECT_EQ(cost.ratio(), 0);
  cost.begin({});
  cost.observe({.ns = kSecond, .requests = 100, .seconds_in_progress = 1});
  EXPECT_EQ(cost.throughput_during(), 100);
  EXPECT_EQ(cost.ratio(), 0);
}

TEST(CheckpointCost, WorkersMayBeginToCountAnew) {
  CheckpointCost cost;
  cost.begin({.ns = 9 * kSecond, .requests = 500});
  cost.observe({.ns = 10 * kSecond, .requests = 3});
  cost.observe({.ns = 11 * kSecond, .requests = 10});
  EXPECT_DOUBLE_EQ(cost.throughput_without(), 7);
}

}  // namespace
}  // namespace granary::tests
