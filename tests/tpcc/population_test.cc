// The initial rows (clause 4.3.3): counts, ranges, shares, and that keys come in order.

#include "bench/tpcc/population.h"

#include <gtest/gtest.h>
#include <lz4.h>

#include <algorithm>
#include <set>
#include <string>

#include "bench/harness/machine.h"
#include "bench/tpcc/parameters.h"

namespace granary::bench::tpcc {
namespace {

template <typename K, typename V>
bool ascending(const Rows<K, V>& rows) {
  return std::adjacent_find(rows.begin(), rows.end(),
                            [](const auto& a, const auto& b) { return a.first >= b.first; }) == rows.end();
}

TEST(Population, OfItemsAndStocks) {
  Random random(1);
  const auto items = make_items(random, 1, 10'001);
  EXPECT_EQ(items.size(), 10'000u);
  EXPECT_TRUE(ascending(items));
  int original = 0;
  for (const auto& [key, item] : items) {
    EXPECT_TRUE(item.price >= 100 && item.price <= 10'000);
    EXPECT_TRUE(item.name.view().size() >= 14 && item.data.view().size() >= 26);
    if (item.data.view().find("ORIGINAL") != std::string_view::npos) ++original;
  }
  EXPECT_NEAR(original, 1000, 150);
  const auto stocks = make_stocks(random, 7, 1, 1001);
  const auto texts = make_stock_texts(random, 7, 1, 1001);
  ASSERT_EQ(stocks.size(), texts.size());
  EXPECT_TRUE(ascending(stocks));
  for (std::size_t i = 0; i < stocks.size(); ++i) {
    EXPECT_EQ(stocks[i].first, texts[i].first);
    EXPECT_TRUE(stocks[i].second.quantity >= 10 && stocks[i].second.quantity <= 100);
    for (const auto& info : texts[i].second.district_info) EXPECT_EQ(info.view().size(), 24u);
  }
}

TEST(Population, OfCustomers) {
  Random random(2);
  const Scale scale;
  const Customers customers = make_customers(random, scale, draw_constants(random), 3, 4, 1'700'000'000, 0);
  ASSERT_EQ(customers.rows.size(), scale.customers);
  EXPECT_EQ(customers.data.size(), scale.customers);
  EXPECT_EQ(customers.history.size(), scale.customers);
  EXPECT_TRUE(ascending(customers.rows) && ascending(customers.data) && ascending(customers.by_name) &&
              ascending(customers.history));
  int bad_credit = 0;
  for (std::uint32_t i = 0; i < scale.customers; ++i) {
    const Customer& customer = customers.rows[i].second;
    EXPECT_TRUE(i >= 1000 || customer.last.view() == last_name(i).view());
    EXPECT_EQ(customer.balance, -1000);
    EXPECT_TRUE(customer.discount >= 0 && customer.discount <= 5000);
    EXPECT_GE(customers.data[i].second.text.view().size(), 300u);
    if (customer.credit.view() == "BC") ++bad_credit;
  }
  EXPECT_NEAR(bad_credit, 300, 100);
}

TEST(Population, OfOrders) {
  Random random(3);
  const Scale scale;
  const Orders orders = make_orders(random, scale, 3, 4, 1'700'000'000);
  EXPECT_EQ(orders.rows.size(), 3000u);
  EXPECT_EQ(orders.undelivered.size(), 900u);
  EXPECT_EQ(order_of(orders.undelivered.front().first), 2101u);
  EXPECT_TRUE(ascending(orders.rows) && ascending(orders.lines) && ascending(orders.undelivered) &&
              ascending(orders.by_customer));
  std::set<std::uint32_t> customers;
  std::size_t lines = 0;
  for (const auto& [key, order] : orders.rows) {
    customers.insert(order.customer);
    lines += order.lines;
    EXPECT_EQ(order.carrier == 0, order_of(key) > 2100);
  }
  EXPECT_EQ(customers.size(), 3000u) << "each customer has one order";
  EXPECT_EQ(lines, orders.lines.size());
}

/// How many times smaller LZ4 makes the long texts of a district's customers.
double ratio_of_texts(double text_ratio) {
  const Scale scale{.items = 500, .customers = 300};
  Random random(1, 0, text_ratio);
  std::string texts;
  for (const auto& [key, data] : make_customers(random, scale, {}, 1, 1, 7, 0).data) texts += data.text.view();
  std::string compressed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(texts.size()))), '\0');
  const int bytes = LZ4_compress_default(texts.data(), compressed.data(), static_cast<int>(texts.size()),
                                         static_cast<int>(compressed.size()));
  return static_cast<double>(texts.size()) / bytes;
}

TEST(Population, TextsCompressAsWanted) {
  for (const double wanted : {1.0, 1.5, 2.0, 4.0}) EXPECT_NEAR(ratio_of_texts(wanted), wanted, wanted * 0.1);
}

TEST(Population, FitsTheEstimate) {
  Parameters parameters;
  parameters.warehouses = 2;
  const std::uint64_t rows = loaded_rows(parameters);
  EXPECT_NEAR(static_cast<double>(rows), 100'000 + 2 * (1 + 10 + 200'000 + 120'000 + 360'000 + 9'000), 1);
  EXPECT_LT(estimated_bytes(parameters), 150'000'000ull * 2 + 50'000'000);
}

TEST(Population, WorkersWithoutACoreAddNothingToTheEstimate) {
  Parameters parameters;
  parameters.run_seconds = 10;
  const std::uint64_t one = bytes_to_touch(parameters);
  EXPECT_GE(one, 10 * 99'000'000ull) << "what 175,000 transactions a second add to the data, as measured";
  parameters.workers = static_cast<std::uint32_t>(allowed_cpus().size());
  const std::uint64_t as_many_as_cores = bytes_to_touch(parameters);
  EXPECT_TRUE(as_many_as_cores > one || parameters.workers == 1);
  parameters.workers *= 4;
  EXPECT_EQ(bytes_to_touch(parameters), as_many_as_cores);
}

TEST(Keys, OrderAsTheirParts) {
  EXPECT_LT(order_line_key(1, 2, 3, 15), order_line_key(1, 2, 4, 1));
  EXPECT_LT(order_line_key(1, 2, 0xffff'ffff, 255), order_line_key(1, 3, 0, 0));
  EXPECT_LT(customer_order_key(1, 10, 3000, 0xffff'ffff), customer_order_key(2, 1, 1, 1));
  EXPECT_LT(customer_name_key(1, 1, 0xffffff, 0xffff), customer_name_key(1, 2, 0, 0));
  EXPECT_LT(stock_key(65534, 100'000), stock_key(65535, 1));
  EXPECT_EQ(order_of(order_line_key(65535, 10, 0xabcd'1234, 15)), 0xabcd'1234u);
  EXPECT_EQ(customer_of(customer_order_key(65535, 10, 3000, 7)), 3000u);
  EXPECT_EQ(customer_of(customer_name_key(65535, 10, name_tag("BAROUGHTABLE"), 2999)), 2999u);
}

}  // namespace
}  // namespace granary::bench::tpcc
