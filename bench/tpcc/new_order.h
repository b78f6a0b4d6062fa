#pragma once
// The New-Order transaction (clause 2.4): enters an order of 5 to 15 lines. One in a hundred names an item that does
// not exist; it does all the work for its other lines and then rolls back (clause 2.4.2.3).

#include <algorithm>
#include <array>

#include "bench/tpcc/tables.h"

namespace granary::bench::tpcc {

inline constexpr std::size_t kMaxLines = 15;

struct NewOrderRequest {
  struct Line {
    std::uint32_t item;
    std::uint16_t supply_warehouse;
    std::uint8_t quantity;
  };
  std::uint32_t order;  ///< the order's number (FastIds, Silo 5.4); 0: take the district's next number
  std::uint32_t customer;
  Date date;
  std::uint16_t warehouse;
  std::uint8_t district;
  std::uint8_t line_count;
  std::array<Line, kMaxLines> lines;
};

/// The values that the terminal shows (clause 2.4.3.3).
struct NewOrderReply {
  struct Line {
    Cents amount;
    std::int32_t price;
    std::int32_t stock_quantity;
    Text<24> item_name;
    char brand;  ///< 'B' or 'G'
  };
  std::uint32_t order;
  std::int32_t discount, warehouse_tax, district_tax;
  Cents total;
  Text<16> last;
  Text<2> credit;
  std::array<Line, kMaxLines> lines;
};

template <store::Store S, typename T>
class NewOrder {
 public:
  NewOrder(T& transaction, const Tables<S>& tables, const NewOrderRequest& request, NewOrderReply& reply)
      : t_(transaction),
        tables_(tables),
        request_(request),
        reply_(reply),
        home_(tables_.partition_of(request.warehouse)) {}

  store::Verdict run() {
    using store::Verdict;
    // Rows that other nodes may have come first: drtm holds remote rows before it reads anything at this node.
    const bool read = has_far_lines() ? read_lines() && take_number() : take_number() && read_lines();
    if (!read) return Verdict::kRetry;
    Cents sum = 0;
    for (std::size_t i = 0; i < request_.line_count; ++i) {
      if (!items_found_[i].found) continue;
      if (!enter_line(i)) return Verdict::kRetry;
      sum += reply_.lines[i].amount;
    }
    if (!enter_order()) return Verdict::kRetry;
    reply_.total =
        sum * (10'000 - reply_.discount) / 10'000 * (10'000 + reply_.warehouse_tax + reply_.district_tax) / 10'000;
    return unknown_items_ == 0 ? Verdict::kCommit : Verdict::kRollBack;
  }

 private:
  using ItemLookup = store::Lookup<typename S::template Table<ItemKey, Item>, ItemKey, Item>;
  using StockLookup = store::Lookup<typename S::template Table<StockKey, Stock>, StockKey, Stock>;
  using TextLookup = store::Lookup<typename S::template Table<StockKey, StockText>, StockKey, StockText>;

  bool has_far_lines() const {
    const auto* const lines = request_.lines.data();
    return std::any_of(lines, lines + request_.line_count,
                       [this](const auto& line) { return line.supply_warehouse != request_.warehouse; });
  }

  /// Reads the district. It will be overwritten if it gives the order its number.
  Outcome get_district(DistrictKey key, District& district) {
    const auto& table = tables_.district[home_];
    return request_.order == 0 ? store::get_to_write(t_, table, key, district) : t_.get(table, key, district);
  }

  /// Reads the rates and the customer, and gives the order its number.
  bool take_number() {
    Warehouse warehouse;
    District district;
    Customer customer;
    const DistrictKey key = district_key(request_.warehouse, request_.district);
    const CustomerKey customer_at = customer_key(request_.warehouse, request_.district, request_.customer);
    if (t_.get(tables_.warehouse[home_], warehouse_key(request_.warehouse), warehouse) != Outcome::kOk) return false;
    if (get_district(key, district) != Outcome::kOk) return false;
    if (t_.get(tables_.customer[home_], customer_at, customer) != Outcome::kOk) return false;
    reply_.warehouse_tax = warehouse.tax;
    reply_.district_tax = district.tax;
    reply_.discount = customer.discount;
    reply_.last = customer.last;
    reply_.credit = customer.credit;
    reply_.order = request_.order;
    if (request_.order != 0) return true;
    reply_.order = district.next_order++;
    return t_.overwrite(tables_.district[home_], key, district) == Outcome::kOk;
  }

  /// Reads items and stocks in one go. An unknown item has no stock either.
  bool read_lines() {
    const std::size_t count = request_.line_count;
    std::array<StockLookup, kMaxLines> stocks;
    std::array<TextLookup, kMaxLines> texts;
    for (std::size_t i = 0; i < count; ++i) {
      const NewOrderRequest::Line& line = request_.lines[i];
      const std::uint32_t part = tables_.partition_of(line.supply_warehouse);
      const StockKey key = stock_key(line.supply_warehouse, line.item);
      items_found_[i] = {tables_.item, item_key(line.item), &items_[i], false};
      stocks[i] = {tables_.stock[part], key, &stocks_[i], false, /*write=*/true};
      texts[i] = {tables_.stock_text[part], key, &texts_[i], false};
    }
    if (t_.multi_get(std::span(items_found_.data(), count), std::span(stocks.data(), count),
                     std::span(texts.data(), count)) != Outcome::kOk) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      unknown_items_ += items_found_[i].found ? 0 : 1;
      if (items_found_[i].found && !(stocks[i].found && texts[i].found)) return false;
    }
    return true;
  }

  /// Gives a line the stock that an earlier line of the order has left, if that is of the same item and warehouse.
  void take_over_earlier(std::size_t i) {
    const NewOrderRequest::Line& line = request_.lines[i];
    for (std::size_t j = i; j-- != 0;) {
      if (request_.lines[j].item != line.item || request_.lines[j].supply_warehouse != line.supply_warehouse) continue;
      stocks_[i] = stocks_[j];
      return;
    }
  }

  bool enter_line(std::size_t i) {
    constexpr std::int32_t kLeast = 10, kRefill = 91;
    const NewOrderRequest::Line& line = request_.lines[i];
    take_over_earlier(i);
    Stock& stock = stocks_[i];
    stock.quantity -= line.quantity;
    if (stock.quantity < kLeast) stock.quantity += kRefill;
    stock.ytd += line.quantity;
    ++stock.orders;
    if (line.supply_warehouse != request_.warehouse) ++stock.remote_orders;
    const std::uint32_t part = tables_.partition_of(line.supply_warehouse);
    if (t_.overwrite(tables_.stock[part], stock_key(line.supply_warehouse, line.item), stock) != Outcome::kOk)
      return false;

    NewOrderReply::Line& shown = reply_.lines[i];
    shown.price = items_[i].price;
    shown.amount = Cents{items_[i].price} * line.quantity;
    shown.stock_quantity = stock.quantity;
    shown.item_name = items_[i].name;
    shown.brand = is_original(items_[i].data) && is_original(texts_[i].data) ? 'B' : 'G';
    const OrderLine row{.delivered = 0,
                        .amount = static_cast<std::int32_t>(shown.amount),
                        .item = line.item,
                        .supply_warehouse = line.supply_warehouse,
                        .quantity = line.quantity,
                        .district_info = texts_[i].district_info[request_.district - 1]};
    const OrderLineKey key = order_line_key(request_.warehouse, request_.district, reply_.order, i + 1);
    return t_.insert(tables_.order_line[home_], key, row) == Outcome::kOk;
  }

  static bool is_original(const Text<50>& text) { return text.view().find("ORIGINAL") != std::string_view::npos; }

  bool enter_order() {
    bool all_local = true;
    for (std::size_t i = 0; i < request_.line_count; ++i) {
      all_local = all_local && request_.lines[i].supply_warehouse == request_.warehouse;
    }
    const Order order{.customer = request_.customer,
                      .entered = request_.date,
                      .carrier = 0,
                      .lines = request_.line_count,
                      .all_local = all_local};
    const OrderKey key = order_key(request_.warehouse, request_.district, reply_.order);
    const CustomerOrderKey by_customer =
        customer_order_key(request_.warehouse, request_.district, request_.customer, reply_.order);
    return t_.insert(tables_.order[home_], key, order) == Outcome::kOk &&
           t_.insert(tables_.new_order[home_], key, Presence{}) == Outcome::kOk &&
           t_.insert(tables_.order_by_customer[home_], by_customer, Presence{}) == Outcome::kOk;
  }

  T& t_;
  const Tables<S>& tables_;
  const NewOrderRequest& request_;
  NewOrderReply& reply_;
  const std::uint32_t home_;
  std::size_t unknown_items_ = 0;
  std::array<ItemLookup, kMaxLines> items_found_;
  std::array<Item, kMaxLines> items_;
  std::array<Stock, kMaxLines> stocks_;
  std::array<StockText, kMaxLines> texts_;
};

template <store::Store S, typename T>
store::Verdict new_order(T& transaction, const Tables<S>& tables, const NewOrderRequest& request,
                         NewOrderReply& reply) {
  return NewOrder<S, T>(transaction, tables, request, reply).run();
}

}  // namespace granary::bench::tpcc
