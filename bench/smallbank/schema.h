#pragma once
// The tables of SmallBank (Alomari, Cahill, Fekete, Röhm: "The Cost of Serializability on Platforms That Use Snapshot
// Isolation", ICDE 2008). A customer has a number, which is the key of all three rows; money is in cents.

#include <cstdint>

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
struct Tables {
  template <typename Row>
  using Parts = store::Spread<typename S::template Table<CustomerKey, Row>>;

  Parts<Account> account;  // never written after loading
  Parts<Balance> savings;
  Parts<Balance> checking;
};

}  // namespace granary::bench::smallbank
