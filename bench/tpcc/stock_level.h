#pragma once
// The Stock-Level transaction (clause 2.8) counts the items of a district's last 20 orders that are low in stock. It
// only reads, and needs no more than committed data, so it may run on a snapshot (Silo 5.5).

#include <array>

#include "bench/tpcc/new_order.h"

namespace granary::bench::tpcc {

struct StockLevelRequest {
  std::uint32_t next_order;  ///< the number after the last order (FastIds); 0: the district's row has it
  std::int32_t threshold;
  std::uint16_t warehouse;
  std::uint8_t district;
};

struct StockLevelReply {
  std::uint32_t low_stock;
};

inline constexpr std::uint32_t kRecentOrders = 20;
inline constexpr std::size_t kRecentItems = kRecentOrders * kMaxLines;

/// A set of up to kRecentItems item numbers.
class ItemSet {
 public:
  void add(std::uint32_t item) {
    std::size_t at = (item * 0x9E3779B1u) >> (32 - kBits);
    while (slots_[at] != 0) {
      if (slots_[at] == item) return;
      at = (at + 1) % slots_.size();
    }
    slots_[at] = item;
    items_[count_++] = item;
  }
  std::size_t size() const { return count_; }
  std::uint32_t operator[](std::size_t index) const { return items_[index]; }

 private:
  static constexpr unsigned kBits = 10;
  static_assert(kRecentItems < (1u << kBits) / 2, "short probes");
  std::array<std::uint32_t, 1u << kBits> slots_{};  // 0 is a free slot, as items count from 1
  std::array<std::uint32_t, kRecentItems> items_;
  std::size_t count_ = 0;
};

template <store::Store S, typename T>
store::Verdict stock_level(T& transaction, const Tables<S>& tables, const StockLevelRequest& request,
                           StockLevelReply& reply) {
  using store::Verdict;
  const std::uint32_t part = tables.partition_of(request.warehouse);
  std::uint32_t next = request.next_order;
  if (next == 0) {
    District district;
    const DistrictKey key = district_key(request.warehouse, request.district);
    if (transaction.get(tables.district[part], key, district) != Outcome::kOk) return Verdict::kRetry;
    next = district.next_order;
  }
  ItemSet items;
  std::size_t lines = 0;
  const auto collect = [&](OrderLineKey, const OrderLine& line) {
    items.add(line.item);
    return ++lines < kRecentItems;
  };
  const std::uint32_t first = next > kRecentOrders ? next - kRecentOrders : 1;
  const Outcome scanned =
      transaction.scan(tables.order_line[part], order_line_key(request.warehouse, request.district, first, 0),
                       order_line_key(request.warehouse, request.district, next, 0), collect);
  if (scanned != Outcome::kOk) return Verdict::kRetry;

  using StockLookup = store::Lookup<typename S::template Table<StockKey, Stock>, StockKey, Stock>;
  std::array<StockLookup, kRecentItems> lookups;
  std::array<Stock, kRecentItems> stocks;
  for (std::size_t i = 0; i < items.size(); ++i) {
    lookups[i] = {tables.stock[part], stock_key(request.warehouse, items[i]), &stocks[i], false};
  }
  if (transaction.multi_get(std::span(lookups.data(), items.size())) != Outcome::kOk) return Verdict::kRetry;
  reply.low_stock = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!lookups[i].found) return Verdict::kRetry;
    if (stocks[i].quantity < request.threshold) ++reply.low_stock;
  }
  return Verdict::kCommit;
}

}  // namespace granary::bench::tpcc
