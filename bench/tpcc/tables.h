#pragma once
// The tables of TPC-C in a store: nine of the specification (two of them in two halves) and two indexes.

#include <string>

#include "bench/store/spread.h"
#include "bench/store/store.h"
#include "bench/tpcc/keys.h"
#include "bench/tpcc/schema.h"

namespace granary::bench::tpcc {

/// Partitions are warehouses; warehouses count from 1.
constexpr std::uint32_t partition_of(std::uint32_t warehouse) { return warehouse - 1; }

template <store::Store S>
class Tables {
 public:
  template <typename K, typename V>
  using Table = typename S::template Table<K, V>;
  /// By partition.
  template <typename K, typename V>
  using Parts = store::Spread<Table<K, V>>;

  /// Physical tables that create() will make.
  static constexpr std::uint32_t kPartitionedTables = 12;

  Status create(S& store, std::uint32_t warehouses) {
    auto items = store.template create_table<ItemKey, Item>("item", 0);
    if (!items.ok()) return items.status();
    item = *items;
    Status done;
    const std::uint32_t parts = store.splits_tables() ? warehouses : 1;
    for (std::uint32_t part = 0; part < parts && done.ok(); ++part) {
      const auto add = [&](auto& table, const char* name) {
        if (done.ok()) done = add_part(store, table, name, part);
      };
      add(warehouse, "warehouse");
      add(district, "district");
      add(customer, "customer");
      add(customer_data, "customer_data");
      add(customer_by_name, "customer_by_name");
      add(history, "history");
      add(new_order, "new_order");
      add(order, "oorder");
      add(order_by_customer, "order_by_customer");
      add(order_line, "order_line");
      add(stock, "stock");
      add(stock_text, "stock_text");
    }
    return done;
  }

  Parts<WarehouseKey, Warehouse> warehouse;
  Parts<DistrictKey, District> district;
  Parts<CustomerKey, Customer> customer;
  Parts<CustomerKey, CustomerData> customer_data;
  Parts<CustomerNameKey, CustomerName> customer_by_name;
  Parts<HistoryKey, History> history;
  Parts<OrderKey, Presence> new_order;
  Parts<OrderKey, Order> order;
  Parts<CustomerOrderKey, Presence> order_by_customer;
  Parts<OrderLineKey, OrderLine> order_line;
  Parts<StockKey, Stock> stock;
  Parts<StockKey, StockText> stock_text;
  Table<ItemKey, Item> item;  // never written after loading

 private:
  template <typename K, typename V>
  static Status add_part(S& store, Parts<K, V>& parts, const char* name, std::uint32_t part) {
    auto table = store.template create_table<K, V>(name, part);
    if (!table.ok()) return table.status();
    parts.add(*table);
    return {};
  }
};

}  // namespace granary::bench::tpcc
