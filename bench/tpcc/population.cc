#include "bench/tpcc/population.h"

#include <algorithm>
#include <numeric>

namespace granary::bench::tpcc {

namespace {

constexpr Cents kFirstPayment = 10'00;

/// Makes a text of 26 to 50 characters. One of ten has ORIGINAL in it.
void fill_data(Random& random, Text<50>& data) {
  random_letters(random, data, 26, 50);
  if (random.below(10) == 0) make_original(random, data.bytes, data.view().size());
}

std::int32_t random_tax(Random& random) { return static_cast<std::int32_t>(random.below(2001)); }

Customer make_customer(Random& random, const Text<16>& last, Date date) {
  Customer customer{};
  customer.balance = -kFirstPayment;
  customer.ytd_payment = kFirstPayment;
  customer.payments = 1;
  customer.discount = static_cast<std::int32_t>(random.below(5001));
  customer.since = date;
  customer.credit_limit = 50'000'00;
  customer.credit.assign(random.below(10) == 0 ? "BC" : "GC");
  customer.middle.assign("OE");
  customer.last = last;
  random_letters(random, customer.first, 8, 16);
  random_digits(random, customer.phone.bytes, 16);
  random_address(random, customer.address);
  return customer;
}

}  // namespace

Rows<ItemKey, Item> make_items(Random& random, std::uint32_t from, std::uint32_t to) {
  Rows<ItemKey, Item> rows;
  for (std::uint32_t number = from; number < to; ++number) {
    Item item{};
    item.price = static_cast<std::int32_t>(random.between(100, 10'000));
    item.image = static_cast<std::uint32_t>(random.between(1, 10'000));
    random_letters(random, item.name, 14, 24);
    fill_data(random, item.data);
    rows.emplace_back(item_key(number), item);
  }
  return rows;
}

Rows<StockKey, Stock> make_stocks(Random& random, std::uint32_t warehouse, std::uint32_t from, std::uint32_t to) {
  Rows<StockKey, Stock> rows;
  for (std::uint32_t item = from; item < to; ++item) {
    Stock stock{};
    stock.quantity = static_cast<std::int32_t>(random.between(10, 100));
    rows.emplace_back(stock_key(warehouse, item), stock);
  }
  return rows;
}

Rows<StockKey, StockText> make_stock_texts(Random& random, std::uint32_t warehouse, std::uint32_t from,
                                           std::uint32_t to) {
  Rows<StockKey, StockText> rows;
  for (std::uint32_t item = from; item < to; ++item) {
    StockText text;
    for (Text<24>& info : text.district_info) random_letters(random, info, 24, 24);
    fill_data(random, text.data);
    rows.emplace_back(stock_key(warehouse, item), text);
  }
  return rows;
}

Warehouse make_warehouse(Random& random, const Scale& scale) {
  Warehouse warehouse{};
  warehouse.ytd = kFirstPayment * kDistricts * scale.customers;
  warehouse.tax = random_tax(random);
  random_letters(random, warehouse.name, 6, 10);
  random_address(random, warehouse.address);
  return warehouse;
}

District make_district(Random& random, const Scale& scale) {
  District district{};
  district.ytd = kFirstPayment * scale.customers;
  district.next_order = scale.customers + 1;
  district.tax = random_tax(random);
  random_letters(random, district.name, 6, 10);
  random_address(random, district.address);
  return district;
}

Customers make_customers(Random& random, const Scale& scale, const NurandConstants& constants, std::uint32_t warehouse,
                         std::uint32_t district, Date date, std::uint64_t history_origin) {
  Customers customers;
  for (std::uint32_t number = 1; number <= scale.customers; ++number) {
    const CustomerKey key = customer_key(warehouse, district, number);
    const std::uint32_t name =
        number <= scale.names() ? number - 1 : random_name(random, constants.load_last_name, scale);
    const Customer customer = make_customer(random, last_name(name), date);
    customers.rows.emplace_back(key, customer);
    CustomerData data;
    random_letters(random, data.text, 300, 500);
    customers.data.emplace_back(key, data);
    customers.by_name.emplace_back(customer_name_key(warehouse, district, name_tag(customer.last.view()), number),
                                   CustomerName{customer.last, customer.first});
    History history{.date = date,
                    .amount = static_cast<std::int32_t>(kFirstPayment),
                    .customer = static_cast<std::uint16_t>(number),
                    .customer_warehouse = static_cast<std::uint16_t>(warehouse),
                    .warehouse = static_cast<std::uint16_t>(warehouse),
                    .customer_district = static_cast<std::uint8_t>(district),
                    .district = static_cast<std::uint8_t>(district),
                    .data = {}};
    random_letters(random, history.data, 12, 24);
    customers.history.emplace_back(history_key(history_origin, static_cast<std::uint64_t>(key)), history);
  }
  std::sort(customers.by_name.begin(), customers.by_name.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return customers;
}

Orders make_orders(Random& random, const Scale& scale, std::uint32_t warehouse, std::uint32_t district, Date date) {
  std::vector<std::uint32_t> customers(scale.customers);  // those of orders 1, 2, ...: each customer has one order
  std::iota(customers.begin(), customers.end(), 1u);
  std::shuffle(customers.begin(), customers.end(), random);
  Orders orders;
  for (std::uint32_t number = 1; number <= scale.customers; ++number) {
    const bool delivered = number <= scale.customers - scale.undelivered();
    const std::uint32_t customer = customers[number - 1];
    Order order{.customer = customer, .entered = date, .carrier = 0, .lines = 0, .all_local = 1};
    order.carrier = delivered ? static_cast<std::uint8_t>(random.between(1, 10)) : std::uint8_t{0};
    order.lines = static_cast<std::uint8_t>(random.between(5, 15));
    orders.rows.emplace_back(order_key(warehouse, district, number), order);
    if (!delivered) orders.undelivered.emplace_back(order_key(warehouse, district, number), Presence{});
    orders.by_customer.emplace_back(customer_order_key(warehouse, district, customer, number), Presence{});
    for (std::uint32_t line = 1; line <= order.lines; ++line) {
      OrderLine row{.delivered = delivered ? date : 0,
                    .amount = delivered ? 0 : static_cast<std::int32_t>(random.between(1, 999'999)),
                    .item = static_cast<std::uint32_t>(random.between(1, scale.items)),
                    .supply_warehouse = static_cast<std::uint16_t>(warehouse),
                    .quantity = 5,
                    .district_info = {}};
      random_letters(random, row.district_info, 24, 24);
      orders.lines.emplace_back(order_line_key(warehouse, district, number, line), row);
    }
  }
  std::sort(orders.by_customer.begin(), orders.by_customer.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return orders;
}

}  // namespace granary::bench::tpcc
