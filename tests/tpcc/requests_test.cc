// What terminals send: ranges and shares of clauses 2.4.1 to 2.8.1, and NURand's constants. Draws are seeded, so a
// share outside its bounds is a fault and not bad luck. The shape of NURand's distribution is not tested.

#include "bench/tpcc/requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace granary::bench::tpcc {
namespace {

/// A share seen in `draws` draws lies within five standard deviations of what it should be.
void expect_share(double seen, double expected, double draws) {
  EXPECT_NEAR(seen / draws, expected, 5 * std::sqrt(expected * (1 - expected) / draws));
}

Parameters two_workers(std::uint32_t warehouses) {
  Parameters parameters;
  parameters.warehouses = warehouses;
  parameters.workers = 2;
  return parameters;
}

TEST(Nurand, StaysInRangeAndReachesItsEnds) {
  Random random(1);
  std::uint32_t low = ~0u, high = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint32_t number = nurand(random, 1023, 259, 1, 3000);
    low = std::min(low, number);
    high = std::max(high, number);
  }
  EXPECT_EQ(low, 1u);
  EXPECT_EQ(high, 3000u);
}

TEST(Nurand, ConstantsForLastNamesDifferAsPrescribed) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const NurandConstants c = draw_constants(random);
    const int delta = std::abs(static_cast<int>(c.run_last_name) - static_cast<int>(c.load_last_name));
    EXPECT_GE(delta, 65);
    EXPECT_LE(delta, 119);
    EXPECT_NE(delta, 96);
    EXPECT_NE(delta, 112);
    EXPECT_LE(c.customer, 1023u);
    EXPECT_LE(c.item, 8191u);
  }
}

TEST(LastName, IsMadeOfThreeSyllables) {
  EXPECT_EQ(last_name(0).view(), "BARBARBAR");
  EXPECT_EQ(last_name(371).view(), "PRICALLYOUGHT");
  EXPECT_EQ(last_name(999).view(), "EINGEINGEING");
  std::set<std::string_view> names;
  for (std::uint32_t i = 0; i < 1000; ++i) names.insert(last_name(i).view());
  EXPECT_EQ(names.size(), 1000u);
}

TEST(RequestSource, DrawsTheStandardMix) {
  RunState state(two_workers(2));
  RequestSource source(state, 0);
  constexpr int kDraws = 200'000;
  std::array<int, kTypes> count{};
  for (int i = 0; i < kDraws; ++i) ++count[static_cast<std::size_t>(source.next_type())];
  const std::array<double, kTypes> expected{0.45, 0.43, 0.04, 0.04, 0.04};
  for (std::size_t type = 0; type < kTypes; ++type) expect_share(count[type], expected[type], kDraws);
}

TEST(RequestSource, DrawsNewOrdersAsSpecified) {
  const Parameters parameters = two_workers(4);
  RunState state(parameters);
  RequestSource source(state, 1);
  constexpr int kDraws = 50'000;
  double lines = 0, remote = 0, rolled_back = 0, quantity = 0;
  for (int i = 0; i < kDraws; ++i) {
    const NewOrderRequest request = source.new_order();
    EXPECT_EQ(request.order, 0u);
    EXPECT_TRUE(request.warehouse == 2 || request.warehouse == 4) << "home warehouses of the second of two workers";
    EXPECT_TRUE(request.district >= 1 && request.district <= kDistricts);
    EXPECT_TRUE(request.customer >= 1 && request.customer <= parameters.scale.customers);
    ASSERT_TRUE(request.line_count >= 5 && request.line_count <= 15);
    for (std::size_t line = 0; line < request.line_count; ++line) {
      const auto& item = request.lines[line];
      const bool unknown = item.item == parameters.scale.items + 1;
      EXPECT_TRUE(item.item >= 1 && (item.item <= parameters.scale.items || unknown));
      if (unknown) {
        EXPECT_EQ(line + 1, request.line_count) << "only the last item may be unknown";
        ++rolled_back;
      }
      EXPECT_TRUE(item.supply_warehouse >= 1 && item.supply_warehouse <= parameters.warehouses);
      EXPECT_TRUE(item.quantity >= 1 && item.quantity <= 10);
      if (item.supply_warehouse != request.warehouse) ++remote;
      quantity += item.quantity;
      ++lines;
    }
  }
  EXPECT_NEAR(lines / kDraws, 10, 0.1);
  EXPECT_NEAR(quantity / lines, 5.5, 0.05);
  expect_share(remote, 0.01, lines);
  expect_share(rolled_back, 0.01, kDraws);
}

TEST(RequestSource, DrawsPaymentsAsSpecified) {
  const Parameters parameters = two_workers(4);
  RunState state(parameters);
  RequestSource first(state, 0), second(state, 1);
  constexpr int kDraws = 50'000;
  double remote = 0, by_name = 0;
  std::set<HistoryKey> keys;
  for (int i = 0; i < kDraws; ++i) {
    const PaymentRequest request = (i % 2 == 0 ? first : second).payment();
    EXPECT_TRUE(request.amount >= 100 && request.amount <= 500'000);
    if (request.customer.warehouse != request.warehouse) {
      ++remote;
    } else {
      EXPECT_EQ(request.customer.district, request.district);
    }
    if (request.customer.customer == 0) ++by_name;
    keys.insert(request.history);
  }
  expect_share(remote, 0.15, kDraws);
  expect_share(by_name, 0.60, kDraws);
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(kDraws)) << "history keys are unique";
}

TEST(RequestSource, DrawsTheOthersAsSpecified) {
  RunState state(two_workers(1));
  RequestSource source(state, 1);
  double by_name = 0;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    if (source.order_status().customer.customer == 0) ++by_name;
    const DeliveryRequest delivery = source.delivery();
    EXPECT_TRUE(delivery.carrier >= 1 && delivery.carrier <= 10);
    const StockLevelRequest stock = source.stock_level();
    EXPECT_EQ(stock.warehouse, 1) << "more workers than warehouses share them";
    EXPECT_TRUE(stock.threshold >= 10 && stock.threshold <= 20);
  }
  expect_share(by_name, 0.60, kDraws);
}

TEST(RequestSource, CrossesPartitionsAsOftenAsAsked) {
  for (const double share : {0.0, 0.2, 0.6, 1.0}) {
    Parameters parameters = two_workers(4);
    parameters.remote_line = remote_line_share(share);
    parameters.remote_payment = share;
    RunState state(parameters);
    RequestSource source(state, 0);
    constexpr int kDraws = 20'000;
    double crossing = 0, paying = 0;
    for (int i = 0; i < kDraws; ++i) {
      const NewOrderRequest request = source.new_order();
      bool remote = false;
      for (std::size_t line = 0; line < request.line_count; ++line) {
        remote = remote || request.lines[line].supply_warehouse != request.warehouse;
      }
      crossing += remote ? 1 : 0;
      const PaymentRequest payment = source.payment();
      paying += payment.customer.warehouse != payment.warehouse ? 1 : 0;
    }
    expect_share(crossing, share, kDraws);
    expect_share(paying, share, kDraws);
  }
}

TEST(RequestSource, FastIdsAreUniqueAndAscendInADistrict) {
  Parameters parameters = two_workers(1);
  parameters.fast_ids = true;
  RunState state(parameters);
  RequestSource first(state, 0), second(state, 1);
  std::array<std::uint32_t, kDistricts + 1> last{};
  last.fill(parameters.scale.customers);
  for (int i = 0; i < 1000; ++i) {
    const NewOrderRequest request = (i % 2 == 0 ? first : second).new_order();
    EXPECT_EQ(request.order, ++last[request.district]);
  }
}

}  // namespace
}  // namespace granary::bench::tpcc
