#pragma once
// The rows of TPC-C (clause 1.3) as plain structs. Money is in cents, rates in ten-thousandths, dates in seconds since
// 1970 (the specification asks for a resolution of one second at least). What transactions touch most comes first.
//
// Two tables are split vertically, as clause 1.4.5 allows, because their long texts hardly change: stock into stock and
// stock_text, customer into customer and customer_data. Both halves have the same key.

#include <cstdint>
#include <cstring>
#include <string_view>

namespace granary::bench::tpcc {

using Cents = std::int64_t;
using Date = std::uint32_t;  // 0: not yet

/// Text of at most N characters, padded with zeros; none of the texts of TPC-C holds a zero.
template <std::size_t N>
struct Text {
  char bytes[N];

  std::string_view view() const { return {bytes, strnlen(bytes, N)}; }
  void assign(std::string_view text) {
    const std::size_t length = text.size() < N ? text.size() : N;
    std::memcpy(bytes, text.data(), length);
    std::memset(bytes + length, 0, N - length);
  }
};

struct Address {
  Text<20> street_1;
  Text<20> street_2;
  Text<20> city;
  Text<2> state;
  Text<9> zip;
};

struct Warehouse {
  Cents ytd;
  std::int32_t tax;
  Text<10> name;
  Address address;
};

struct District {
  Cents ytd;
  std::uint32_t next_order;
  std::int32_t tax;
  Text<10> name;
  Address address;
};

struct Customer {
  Cents balance;
  Cents ytd_payment;
  std::uint32_t payments;
  std::uint32_t deliveries;
  std::int32_t discount;
  Date since;
  Cents credit_limit;
  Text<2> credit;  // "GC" or "BC"
  Text<2> middle;
  Text<16> last;
  Text<16> first;
  Text<16> phone;
  Address address;
};

struct CustomerData {
  Text<500> text;
};

/// An entry of the index by last name. It has enough to choose the customer without reading any.
struct CustomerName {
  Text<16> last;
  Text<16> first;
};

/// A row that only has to be there, because its key (CustomerOrderKey, or OrderKey in new_order) says all.
struct Presence {
  std::uint8_t unused;
};

struct Order {
  std::uint32_t customer;
  Date entered;
  std::uint8_t carrier;  // 0: not delivered yet
  std::uint8_t lines;
  std::uint8_t all_local;
};

struct OrderLine {
  Date delivered;
  std::int32_t amount;  // cents; at most 9,999.99
  std::uint32_t item;
  std::uint16_t supply_warehouse;
  std::uint8_t quantity;
  Text<24> district_info;
};

struct Item {
  std::int32_t price;
  std::uint32_t image;
  Text<24> name;
  Text<50> data;
};

struct Stock {
  std::int32_t quantity;
  std::uint32_t ytd;
  std::uint32_t orders;
  std::uint32_t remote_orders;
};

struct StockText {
  Text<24> district_info[10];
  Text<50> data;
};

struct History {
  Date date;
  std::int32_t amount;
  std::uint16_t customer;
  std::uint16_t customer_warehouse;
  std::uint16_t warehouse;
  std::uint8_t customer_district;
  std::uint8_t district;
  Text<24> data;
};

static_assert(sizeof(OrderLine) == 40 && sizeof(History) == 40, "with a record's header, one cache line");

/// Cardinalities of one warehouse (clause 4.3); smaller ones are for tests.
struct Scale {
  std::uint32_t items = 100'000;    // as many as a warehouse has stocks
  std::uint32_t customers = 3'000;  // customers of a district, which has as many orders at first
  /// Returns how many orders of a district are not delivered yet at first: the last 30 %.
  std::uint32_t undelivered() const { return customers * 3 / 10; }
  /// Returns how many different last names the customers have.
  std::uint32_t names() const { return customers < 1000 ? customers : 1000; }
};

}  // namespace granary::bench::tpcc
