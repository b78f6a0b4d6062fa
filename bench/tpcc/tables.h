#pragma once
// The tables of TPC-C in a store: nine of the specification (two of them in two halves) and two indexes.

#include <string>
#include <vector>

#include "bench/store/spread.h"
#include "bench/store/store.h"
#include "bench/tpcc/keys.h"
#include "bench/tpcc/parameters.h"
#include "bench/tpcc/schema.h"

namespace granary::bench::tpcc {

template <store::Store S>
class Tables {
 public:
  template <typename K, typename V>
  using Table = typename S::template Table<K, V>;
  /// A table, or its parts, found by partition.
  template <typename K, typename V>
  using Parts = store::Spread<Table<K, V>>;

  /// Creates all tables. With Parameters::mixed_index, tables that no transaction scans and whose rows do not grow in
  /// number are hash tables. Tables that grow without end stay ordered, scanned or not (history, orders), because their
  /// rows come in the order of their keys.
  Status create(S& store, const Parameters& parameters) {
    const Scale& scale = parameters.scale;
    const KeyRanges ranges = parameters.partition_ranges();
    const std::uint32_t parts = store.splits_tables() ? ranges.parts() : 1;
    const std::uint64_t warehouses = store.splits_tables() ? ranges.most() : parameters.own_warehouses();
    partitions_.clear();
    for (std::uint64_t i = 0; i < ranges.count(); ++i) partitions_.push_back(ranges.part_of(i));
    const std::uint64_t customers = warehouses * kDistricts * scale.customers;
    const auto by_key = [&](std::uint64_t rows) {
      return store::TableLayout{.hash = parameters.mixed_index, .rows = rows, .overwritten = true};
    };
    const auto loaded_once = [&](std::uint64_t rows) {
      return store::TableLayout{.hash = parameters.mixed_index, .rows = rows, .loaded_once = true};
    };
    auto items =
        store.template create_table<ItemKey, Item>("item", 0, loaded_once(scale.items));  // a copy on every node
    if (!items.ok()) return items.status();
    item = *items;
    Status done;
    for (std::uint32_t part = 0; part < parts && done.ok(); ++part) {
      const auto add = [&](auto& table, const char* name, store::TableLayout layout = {}) {
        if (done.ok()) done = add_part(store, table, name, part, std::move(layout), parameters);
      };
      add(warehouse, "warehouse", by_key(warehouses));
      add(district, "district", by_key(warehouses * kDistricts));
      add(customer, "customer", by_key(customers));
      add(customer_data, "customer_data", by_key(customers));
      add(customer_by_name, "customer_by_name");
      add(history, "history");
      add(new_order, "new_order");
      add(order, "oorder");
      add(order_by_customer, "order_by_customer");
      add(order_line, "order_line");
      add(stock, "stock", by_key(warehouses * scale.items));
      add(stock_text, "stock_text", loaded_once(warehouses * scale.items));
    }
    return done;
  }

  /// Returns the partition that holds the rows of warehouse `number`. Partitions count from 0, warehouses from 1.
  std::uint32_t partition_of(std::uint32_t number) const { return partitions_[number - 1]; }

  /// Calls `seal` with each table that never changes after loading, until that fails.
  template <typename Seal>
  Status seal(const Seal& seal) {
    Status done = seal(item);
    for (std::uint32_t part = 0; part < stock_text.parts() && done.ok(); ++part) done = seal(stock_text[part]);
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
  Parts<StockKey, StockText> stock_text;  // never written after loading
  Table<ItemKey, Item> item;              // never written after loading

 private:
  std::vector<std::uint32_t> partitions_;  // the partition of each warehouse

  template <typename K, typename V>
  static Status add_part(S& store, Parts<K, V>& parts, const char* name, std::uint32_t part, store::TableLayout layout,
                         const Parameters& parameters) {
    layout.home = home_of<K>(parameters);
    auto table = store.template create_table<K, V>(name, part, layout);
    if (!table.ok()) return table.status();
    parts.add(*table);
    return {};
  }

  /// Returns TableLayout::home of a table. A row belongs to the node of its warehouse, and a row of history to the node
  /// of the client that wrote it.
  template <typename K>
  static auto home_of(const Parameters& parameters) {
    return [ranges = parameters.warehouse_ranges(), origins = parameters.history_origins()](std::uint64_t key) {
      if constexpr (std::is_same_v<K, HistoryKey>) {
        return static_cast<std::uint32_t>(origin_of(K{key}) / origins);
      } else {
        return ranges.part_of(warehouse_of(K{key}) - 1);
      }
    };
  }
};

}  // namespace granary::bench::tpcc
