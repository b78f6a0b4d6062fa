#pragma once
// The tables of SmallBank (Alomari, Cahill, Fekete, Röhm: "The Cost of Serializability on Platforms That Use Snapshot
// Isolation", ICDE 2008). A customer has a number, which is the key of all three rows; money is in cents.

#include <cstdint>
#include <cstring>
#include <string>

#include "bench/smallbank/parameters.h"
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
  Status create(S& store, const Parameters& parameters) {
    const KeyRanges ranges = parameters.ranges();
    const std::uint32_t parts = store.splits_tables() ? ranges.parts() : 1;
    const std::uint64_t rows = ranges.count() / (parameters.share.alone() ? parts : ranges.parts()) + 1;
    const store::TableLayout layout{parameters.hash, rows, [=](std::uint64_t key) { return ranges.part_of(key); }};
    Status done;
    for (std::uint32_t part = 0; part < parts; ++part) {
      if (done.ok()) done = add_part(store, account, "account", part, layout);
      if (done.ok()) done = add_part(store, savings, "savings", part, layout);
      if (done.ok()) done = add_part(store, checking, "checking", part, layout);
    }
    return done;
  }

  Parts<Account> account;  // never written after loading
  Parts<Balance> savings;
  Parts<Balance> checking;

 private:
  template <typename Row>
  static Status add_part(S& store, Parts<Row>& parts, const char* name, std::uint32_t part,
                         const store::TableLayout& layout) {
    auto table = store.template create_table<CustomerKey, Row>(name, part, layout);
    if (!table.ok()) return table.status();
    parts.add(*table);
    return {};
  }
};

}  // namespace granary::bench::smallbank
