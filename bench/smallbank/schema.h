#pragma once
// The tables of SmallBank (Alomari, Cahill, Fekete, Röhm: "The Cost of Serializability on Platforms That Use Snapshot
// Isolation", ICDE 2008). A customer has a number, which is the key of all three rows; money is in cents.

#include <cstdint>
#include <cstring>
#include <string>

#include "bench/store/spread.h"
#include "bench/store/store.h"

namespace granary::bench::smallbank {

using Cents = std::int64_t;

enum class CustomerKey : std::uint64_t {};

struct Account {
  std::uint64_t number;
  char name[24];
};
struct Balance {
  Cents cents;
};

/// A customer and the partition where its rows are.
struct Customer {
  CustomerKey key;
  std::uint32_t partition;
};

template <store::Store S>
class Tables {
 public:
  template <typename Row>
  using Table = typename S::template Table<CustomerKey, Row>;
  template <typename Row>
  using Parts = store::Spread<Table<Row>>;

  /// Physical tables of each partition.
  static constexpr std::uint32_t kPartitionedTables = 3;

  /// Rows are reached by key only, so a hash index will do.
  Status create(S& store, std::uint32_t partitions, std::uint64_t customers, bool hash) {
    const std::uint32_t parts = store.splits_tables() ? partitions : 1;
    const store::TableIndex index{hash, customers / parts + 1};
    Status done;
    for (std::uint32_t part = 0; part < parts; ++part) {
      if (done.ok()) done = add_part(store, account, "account", part, index);
      if (done.ok()) done = add_part(store, savings, "savings", part, index);
      if (done.ok()) done = add_part(store, checking, "checking", part, index);
    }
    return done;
  }

  Parts<Account> account;  // never written after loading
  Parts<Balance> savings;
  Parts<Balance> checking;

 private:
  template <typename Row>
  static Status add_part(S& store, Parts<Row>& parts, const char* name, std::uint32_t part, store::TableIndex index) {
    auto table = store.template create_table<CustomerKey, Row>(name, part, index);
    if (!table.ok()) return table.status();
    parts.add(*table);
    return {};
  }
};

}  // namespace granary::bench::smallbank
