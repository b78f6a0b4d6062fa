// What is drawn: the mix, the subscribers, and the population.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "bench/tatp/requests.h"
#include "tests/tatp/small_tatp.h"

namespace granary::bench::tatp {
namespace {

constexpr int kDraws = 100'000;

TEST(TatpRequests, FollowTheMix) {
  RequestSource source(few_subscribers(1), 0);
  std::array<int, kMix.size()> drawn{};
  for (int i = 0; i < kDraws; ++i) ++drawn[static_cast<std::size_t>(source.next().type)];
  for (std::size_t type = 0; type < kMix.size(); ++type)
    EXPECT_NEAR(100.0 * drawn[type] / kDraws, kMix[type], 1) << kTypeNames[type];
}

TEST(TatpRequests, ComeFromTheHomePartitionOrAsOftenAsAskedFromAnother) {
  const store::RangeParameters parameters = few_subscribers(3);
  RequestSource source(parameters, 1);
  std::map<std::uint32_t, int> partitions;
  for (int i = 0; i < kDraws; ++i) {
    const TatpRequest request = source.next();
    ASSERT_EQ(parameters.ranges().part_of(request.subscriber), request.partition);
    ++partitions[request.partition];
    EXPECT_TRUE(request.row_type < kRowTypes && request.start < kStarts);
    EXPECT_TRUE(request.end_time >= 1 && request.end_time <= 24);
  }
  EXPECT_NEAR(static_cast<double>(partitions[1]) / kDraws, 0.7, 0.01);
  EXPECT_NEAR(static_cast<double>(partitions[0]) / kDraws, 0.15, 0.01);
}

TEST(TatpRequests, OfANodeComeFromItsPartition) {
  store::RangeParameters parameters = few_subscribers(3);
  parameters.distributed = 0;
  parameters.share = {.node = 2, .nodes = 3, .in_cluster = true};
  for (const std::uint32_t worker : {0u, 1u, 5u}) EXPECT_EQ(RequestSource(parameters, worker).next().partition, 2u);
}

/// The ones in 16 random bits make numbers with more of them likelier.
TEST(TatpRequests, SubscribersAreNotUniform) {
  RequestSource source(few_subscribers(1, 100'000), 0);
  double bits = 0;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t number = source.next().subscriber;
    ASSERT_LT(number, 100'000u);
    seen.insert(number);
    bits += std::popcount(number & 0xff);
  }
  EXPECT_NEAR(bits / kDraws, 6, 0.6) << "of eight, where uniform ones have four";
  EXPECT_LT(seen.size(), 45'000u) << "uniform ones would be 63 % of all";
}

TEST(TatpPopulation, NumbersHaveFifteenDigits) {
  const Digits sub_nbr = sub_nbr_of(41);
  EXPECT_EQ(std::string_view(sub_nbr.data(), sub_nbr.size()), "000000000000042");
  EXPECT_EQ(number_key(sub_nbr), NumberKey{41});
}

TEST(TatpPopulation, RowsAreDrawnEvenly) {
  base::Random random(1);
  std::map<std::size_t, int> counts;
  std::map<std::uint64_t, int> types;
  for (int i = 0; i < kDraws; ++i) {
    const auto rows = draw_rows(1, kRowTypes, random);
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), rows.size());
    ++counts[rows.size()];
    for (const std::uint64_t type : rows) ++types[type];
  }
  EXPECT_EQ(counts.size(), 4u);
  for (const auto& [count, times] : counts) EXPECT_NEAR(static_cast<double>(times) / kDraws, 0.25, 0.01) << count;
  for (const auto& [type, times] : types) EXPECT_NEAR(static_cast<double>(times) / kDraws, 0.625, 0.01) << type;
}

TEST(TatpPopulation, RowsAreAsSpecified) {
  base::Random random(2);
  int active = 0;
  for (int i = 0; i < kDraws; ++i) {
    active += draw_special_facility(random).is_active;
    const CallForwarding forwarding = draw_call_forwarding(2, random);
    ASSERT_TRUE(forwarding.end_time > 16 && forwarding.end_time <= 24);
    const Subscriber subscriber = draw_subscriber(7, random);
    ASSERT_TRUE(subscriber.s_id == 8 && subscriber.vlr_location != 0 && subscriber.bits[9] < 2);
    ASSERT_LT(subscriber.hexes[9], 16);
  }
  EXPECT_NEAR(static_cast<double>(active) / kDraws, 0.85, 0.01);
}

}  // namespace
}  // namespace granary::bench::tatp
