#pragma once
// Makes the initial rows of TPC-C (clause 4.3.3), in the order of their keys. They are the same for every store.

#include <utility>
#include <vector>

#include "bench/tpcc/keys.h"
#include "bench/tpcc/random.h"

namespace granary::bench::tpcc {

template <typename K, typename V>
using Rows = std::vector<std::pair<K, V>>;

Rows<ItemKey, Item> make_items(Random& random, std::uint32_t from, std::uint32_t to);

Rows<StockKey, Stock> make_stocks(Random& random, std::uint32_t warehouse, std::uint32_t from, std::uint32_t to);
Rows<StockKey, StockText> make_stock_texts(Random& random, std::uint32_t warehouse, std::uint32_t from,
                                           std::uint32_t to);

Warehouse make_warehouse(Random& random, const Scale& scale);
District make_district(Random& random, const Scale& scale);

struct Customers {
  Rows<CustomerKey, Customer> rows;
  Rows<CustomerKey, CustomerData> data;
  Rows<CustomerNameKey, CustomerName> by_name;
  Rows<HistoryKey, History> history;
};
Customers make_customers(Random& random, const Scale& scale, const NurandConstants& constants, std::uint32_t warehouse,
                         std::uint32_t district, Date date, std::uint64_t history_origin);

struct Orders {
  Rows<OrderKey, Order> rows;
  Rows<OrderLineKey, OrderLine> lines;
  Rows<OrderKey, Presence> undelivered;
  Rows<CustomerOrderKey, Presence> by_customer;
};
Orders make_orders(Random& random, const Scale& scale, std::uint32_t warehouse, std::uint32_t district, Date date);

}  // namespace granary::bench::tpcc
