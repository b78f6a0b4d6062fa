// Whose keys a node's YCSB clients ask for.

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "bench/ycsb/requests.h"

namespace granary::bench::ycsb {
namespace {

TEST(YcsbOnNodes, KeysAreTheNodesOwnButForTheDistributedShare) {
  constexpr int kDraws = 50'000;
  for (const double theta : {0.0, 0.9}) {
    const Parameters parameters{.shares = mixes()[0].shares,
                                .keys = 1000,
                                .theta = theta,
                                .distributed = 0.2,
                                .share = {.node = 1, .nodes = 3, .in_cluster = true}};
    const Zipf zipf(parameters.keys, theta);
    KeySpace keys(parameters.keys);
    base::Random random(1);
    Requests requests(parameters, zipf, keys, random);
    double by_node[3] = {};
    for (int i = 0; i < kDraws; ++i) {
      const std::uint64_t key = requests.next_key();
      ASSERT_LT(key, parameters.ranges().count());
      ++by_node[parameters.ranges().part_of(key)];
    }
    EXPECT_NEAR(by_node[0] / kDraws, 0.1, 0.01);
    EXPECT_NEAR(by_node[1] / kDraws, 0.8, 0.01);
    EXPECT_NEAR(by_node[2] / kDraws, 0.1, 0.01);
  }
}

TEST(YcsbAlone, KeysAreTheFirst) {
  const Parameters parameters{.shares = mixes()[0].shares, .keys = 10};
  const Zipf zipf(parameters.keys, 0);
  KeySpace keys(parameters.keys);
  base::Random random(1);
  Requests requests(parameters, zipf, keys, random);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(requests.next_key(), 10u);
}

TEST(YcsbSteps, AreOnDistinctKeysInTheSharesOfTheMix) {
  constexpr int kTransactions = 2000;
  const Parameters parameters{
      .shares = std::find_if(mixes().begin(), mixes().end(), [](const Mix& mix) { return mix.name == "high"; })->shares,
      .keys = kKeysPerOp * kOps,
      .fields = kFields,
      .ops = kOps,
      .theta = 0.9};
  const Zipf zipf(parameters.keys, parameters.theta);
  KeySpace keys(parameters.keys);
  base::Random random(1);
  Requests requests(parameters, zipf, keys, random);
  std::vector<Step> steps(kOps);
  int writes = 0;
  std::set<std::uint32_t> fields;
  for (int i = 0; i < kTransactions; ++i) {
    requests.next_steps(steps);
    std::set<std::uint64_t> seen;
    for (const Step& step : steps) {
      seen.insert(KeyBytes::number(step.key.view()));
      fields.insert(step.field);
      writes += step.writes() ? 1 : 0;
    }
    ASSERT_EQ(seen.size(), kOps);
  }
  EXPECT_NEAR(static_cast<double>(writes) / (kTransactions * kOps), 0.5, 0.02);
  EXPECT_EQ(fields.size(), kFields);
  EXPECT_EQ(*fields.rbegin(), kFields - 1);
}

/// The shares are not whole, and one of them is far less than one percent.
TEST(YcsbSteps, OfSharesOfOnesOwnAreDrawnAsOften) {
  constexpr int kTransactions = 20'000;
  constexpr std::size_t kSteps = 5;
  constexpr Shares kShares{{12.5, 0, 20.25, 0.25, 33, 34}};
  const Parameters parameters{.shares = kShares, .keys = 1000, .ops = kSteps, .scan_length = 7};
  const Zipf zipf(parameters.keys, 0);
  KeySpace keys(parameters.keys);
  base::Random random(1);
  Requests requests(parameters, zipf, keys, random);
  std::vector<Step> steps(kSteps);
  std::array<int, kOperations> drawn{};
  std::set<std::uint64_t> inserted;
  for (int i = 0; i < kTransactions; ++i) {
    requests.next_steps(steps);
    std::set<std::uint64_t> seen;
    for (const Step& step : steps) {
      const std::uint64_t key = KeyBytes::number(step.key.view());
      seen.insert(key);
      ++drawn[static_cast<std::size_t>(step.operation)];
      if (step.operation == Operation::kScan) {
        ASSERT_GE(step.length, 1u);
        ASSERT_LE(step.length, 7u);
      }
      if (step.operation == Operation::kInsert) {
        ASSERT_TRUE(inserted.insert(key).second) << "a key is new once";
      }
      ASSERT_EQ(step.operation == Operation::kInsert, key >= parameters.keys);
    }
    ASSERT_EQ(seen.size(), kSteps);
  }
  for (std::size_t i = 0; i < kOperations; ++i)
    EXPECT_NEAR(100.0 * drawn[i] / (kTransactions * kSteps), kShares.percent[i], kShares.percent[i] == 0 ? 0 : 0.5);
  EXPECT_GT(drawn[static_cast<std::size_t>(Operation::kReadModifyWrite)], 0);
  EXPECT_EQ(keys.count(), parameters.keys + inserted.size());
}

}  // namespace
}  // namespace granary::bench::ycsb
