// What is drawn: the mix, the hot spot, who pays whom, and in which partition.

#include <gtest/gtest.h>

#include <map>

#include "bench/smallbank/requests.h"

namespace granary::bench::smallbank {
namespace {

constexpr int kDraws = 100'000;

TEST(SmallBankRequests, FollowTheMix) {
  RequestSource source({.customers = 1000}, 0);
  std::array<int, kTypes> drawn{};
  for (int i = 0; i < kDraws; ++i) ++drawn[static_cast<std::size_t>(source.next().type)];
  for (std::size_t type = 0; type < kTypes; ++type)
    EXPECT_NEAR(100.0 * drawn[type] / kDraws, kMix[type], 1) << kTypeNames[type];
}

TEST(SmallBankRequests, HotCustomersTakeTheirShare) {
  const Parameters parameters{
      .customers = 2000, .partitions = 2, .hot_customers = 0.05, .hot_requests = 0.7, .distributed = 0};
  for (const std::uint32_t worker : {0u, 1u}) {
    RequestSource source(parameters, worker);
    const KeyRange home = parameters.ranges()[worker];
    int hot = 0;
    for (int i = 0; i < kDraws; ++i) {
      const auto number = static_cast<std::uint64_t>(source.next().first.key);
      ASSERT_TRUE(number >= home.from && number < home.to);
      hot += number < home.from + 50 ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(hot) / kDraws, 0.7, 0.01);
  }
}

TEST(SmallBankRequests, AllClientsOfAWorkerAreAtHomeInOnePartition) {
  const Parameters parameters{.customers = 90, .partitions = 3, .distributed = 0};
  for (const std::uint32_t worker : {0u, 1u, 2u}) {
    for (const std::uint32_t place : {1u, 2u, 15u})
      EXPECT_EQ(RequestSource(parameters, worker + 256 * place).next().first.partition, worker);
  }
}

TEST(SmallBankRequests, DistributedOnesTakeTheSecondFromAnotherPartition) {
  const Parameters parameters{.customers = 90, .partitions = 3, .distributed = 0.1};
  const KeyRanges ranges = parameters.ranges();
  RequestSource source(parameters, 1);
  int with_two = 0;
  std::map<std::uint32_t, int> elsewhere;
  for (int i = 0; i < kDraws; ++i) {
    const BankRequest request = source.next();
    EXPECT_EQ(request.first.partition, 1u);
    if (!has_two(request.type)) continue;
    ++with_two;
    EXPECT_NE(request.first.key, request.second.key);
    EXPECT_EQ(ranges.part_of(static_cast<std::uint64_t>(request.second.key)), request.second.partition);
    if (request.second.partition != 1) ++elsewhere[request.second.partition];
  }
  for (const std::uint32_t other : {0u, 2u}) EXPECT_NEAR(static_cast<double>(elsewhere[other]) / with_two, 0.05, 0.01);
}

TEST(SmallBankRequests, OfANodeComeFromItsPartition) {
  for (const std::uint32_t worker : {0u, 1u, 5u}) {
    RequestSource source({.customers = 90, .partitions = 3, .share = {.node = 2, .nodes = 3, .in_cluster = true}},
                         worker);
    EXPECT_EQ(source.next().first.partition, 2u);
  }
}

TEST(SmallBankRequests, TwoCustomersAreEnough) {
  RequestSource source({.customers = 2, .hot_customers = 0.5, .hot_requests = 1}, 0);
  for (int i = 0; i < 1000; ++i) {
    const BankRequest request = source.next();
    EXPECT_TRUE(!has_two(request.type) || request.first.key != request.second.key);
  }
}

}  // namespace
}  // namespace granary::bench::smallbank
