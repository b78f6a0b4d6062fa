#pragma once
// The keys of the TPC-C tables. Each is one 64-bit word whose order is that of the primary key, most significant part
// first, so every key takes exactly one slice of the index.
//
//   warehouse           warehouse 16
//   district            warehouse 16 | district 8
//   customer            warehouse 16 | district 8 | customer 16
//   customer by name    warehouse 16 | district 8 | tag of the last name 24 | customer 16
//   order, new_order    warehouse 16 | district 8 | order 32
//   order by customer   warehouse 16 | district 4 | customer 12 | order 32
//   order_line          warehouse 16 | district 8 | order 32 | line 8
//   item                item 32
//   stock               warehouse 16 | item 32
//   history             origin 16 | sequence 48
//
// Each is a type of its own, so that keys of different tables cannot be mixed up.

#include <cstdint>
#include <string_view>

namespace granary::bench::tpcc {

enum class WarehouseKey : std::uint64_t {};
enum class DistrictKey : std::uint64_t {};
enum class CustomerKey : std::uint64_t {};
enum class CustomerNameKey : std::uint64_t {};
enum class OrderKey : std::uint64_t {};
enum class CustomerOrderKey : std::uint64_t {};
enum class OrderLineKey : std::uint64_t {};
enum class ItemKey : std::uint64_t {};
enum class StockKey : std::uint64_t {};
enum class HistoryKey : std::uint64_t {};

inline constexpr std::uint32_t kMaxWarehouses = 65535;
inline constexpr std::uint32_t kDistricts = 10;  // districts of a warehouse
inline constexpr std::uint32_t kHistoryOrigins = 1u << 16;
static_assert(kDistricts < 16 && kMaxWarehouses <= 0xffff, "they fit their bits");

constexpr WarehouseKey warehouse_key(std::uint64_t warehouse) { return WarehouseKey{warehouse}; }
constexpr DistrictKey district_key(std::uint64_t warehouse, std::uint64_t district) {
  return DistrictKey{warehouse << 8 | district};
}
constexpr CustomerKey customer_key(std::uint64_t warehouse, std::uint64_t district, std::uint64_t customer) {
  return CustomerKey{warehouse << 24 | district << 16 | customer};
}
constexpr OrderKey order_key(std::uint64_t warehouse, std::uint64_t district, std::uint64_t order) {
  return OrderKey{warehouse << 40 | district << 32 | order};
}
constexpr CustomerOrderKey customer_order_key(std::uint64_t warehouse, std::uint64_t district, std::uint64_t customer,
                                              std::uint64_t order) {
  return CustomerOrderKey{warehouse << 48 | district << 44 | customer << 32 | order};
}
/// `line` counts from 1; 0 sorts before all lines of the order.
constexpr OrderLineKey order_line_key(std::uint64_t warehouse, std::uint64_t district, std::uint64_t order,
                                      std::uint64_t line) {
  return OrderLineKey{warehouse << 48 | district << 40 | order << 8 | line};
}
constexpr ItemKey item_key(std::uint64_t item) { return ItemKey{item}; }
constexpr StockKey stock_key(std::uint64_t warehouse, std::uint64_t item) { return StockKey{warehouse << 32 | item}; }
constexpr HistoryKey history_key(std::uint64_t origin, std::uint64_t sequence) {
  return HistoryKey{origin << 48 | sequence};
}

/// Return the warehouse that a row belongs to. A row of history belongs to its origin.
constexpr std::uint64_t warehouse_of(WarehouseKey key) { return static_cast<std::uint64_t>(key); }
constexpr std::uint64_t warehouse_of(DistrictKey key) { return static_cast<std::uint64_t>(key) >> 8; }
constexpr std::uint64_t warehouse_of(CustomerKey key) { return static_cast<std::uint64_t>(key) >> 24; }
constexpr std::uint64_t warehouse_of(CustomerNameKey key) { return static_cast<std::uint64_t>(key) >> 48; }
constexpr std::uint64_t warehouse_of(OrderKey key) { return static_cast<std::uint64_t>(key) >> 40; }
constexpr std::uint64_t warehouse_of(CustomerOrderKey key) { return static_cast<std::uint64_t>(key) >> 48; }
constexpr std::uint64_t warehouse_of(OrderLineKey key) { return static_cast<std::uint64_t>(key) >> 48; }
constexpr std::uint64_t warehouse_of(StockKey key) { return static_cast<std::uint64_t>(key) >> 32; }
constexpr std::uint64_t origin_of(HistoryKey key) { return static_cast<std::uint64_t>(key) >> 48; }

constexpr std::uint32_t order_of(OrderKey key) { return static_cast<std::uint32_t>(key); }
constexpr std::uint32_t order_of(CustomerOrderKey key) { return static_cast<std::uint32_t>(key); }
constexpr std::uint32_t order_of(OrderLineKey key) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(key) >> 8);
}
constexpr std::uint32_t customer_of(CustomerKey key) { return static_cast<std::uint32_t>(key) & 0xffff; }
constexpr std::uint32_t customer_of(CustomerNameKey key) { return static_cast<std::uint32_t>(key) & 0xffff; }
constexpr std::uint32_t customer_of(CustomerOrderKey key) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(key) >> 32) & 0xfff;
}

/// Returns 24 bits of a last name (FNV-1a, folded). Entries hold the whole name, which tells names with one tag apart.
constexpr std::uint64_t name_tag(std::string_view last_name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : last_name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return (hash ^ hash >> 24 ^ hash >> 48) & 0xffffff;
}
/// Returns the entry of one customer or, with customer 0, the first place of a name. Names of one tag lie together.
constexpr CustomerNameKey customer_name_key(std::uint64_t warehouse, std::uint64_t district, std::uint64_t tag,
                                            std::uint64_t customer) {
  return CustomerNameKey{warehouse << 48 | district << 40 | tag << 16 | customer};
}

}  // namespace granary::bench::tpcc
