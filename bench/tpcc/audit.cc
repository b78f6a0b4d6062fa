#include "bench/tpcc/audit.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/random.h"

namespace granary::bench::tpcc {

namespace {

constexpr std::array<std::string_view, Audit::kConditions + 1> kNames{
    "",
    "TPC-C 3.3.2.1: W_YTD = sum of D_YTD",
    "TPC-C 3.3.2.2: D_NEXT_O_ID - 1 = max O_ID = max NO_O_ID",
    "TPC-C 3.3.2.3: NO_O_ID without gaps",
    "TPC-C 3.3.2.4: sum of O_OL_CNT = number of order lines",
    "TPC-C 3.3.2.5: no carrier if and only if in NEW_ORDER",
    "TPC-C 3.3.2.6: O_OL_CNT = order lines of the order",
    "TPC-C 3.3.2.7: no delivery date if and only if no carrier",
    "TPC-C 3.3.2.8: W_YTD = sum of H_AMOUNT",
    "TPC-C 3.3.2.9: D_YTD = sum of H_AMOUNT",
    "TPC-C 3.3.2.10: C_BALANCE = delivered OL_AMOUNT - H_AMOUNT",
    "TPC-C 3.3.2.11: orders - new orders = 2100 + deliveries",
    "TPC-C 3.3.2.12: C_BALANCE + C_YTD_PAYMENT = delivered OL_AMOUNT",
    "indexes by name and by customer lead to the rows, and to all of them",
    "S_YTD and S_ORDER_CNT = what order lines took",
};

/// Returns a number's weight in a sum. It is odd, and unrelated to the weights of other numbers.
std::uint64_t weight(std::uint64_t number) { return base::splitmix64(number) | 1; }

std::uint64_t weighted(std::uint64_t warehouse, const StockSums& stock) {
  return weight(2 * warehouse) * stock.quantity + weight(2 * warehouse + 1) * stock.orders;
}

}  // namespace

PaymentSums::PaymentSums(std::uint32_t of_warehouses, const Scale& scale)
    : warehouses(of_warehouses),
      customers(scale.customers),
      of_district(std::size_t{of_warehouses} * kDistricts),
      of_customer(std::size_t{of_warehouses} * kDistricts * scale.customers) {}

void PaymentSums::add(const History& row) {
  const auto there = [&](std::uint32_t warehouse, std::uint32_t district) {
    return warehouse >= 1 && warehouse <= warehouses && district >= 1 && district <= kDistricts;
  };
  const bool known = there(row.warehouse, row.district) && there(row.customer_warehouse, row.customer_district) &&
                     row.customer >= 1 && row.customer <= customers;
  if (!known) {
    ++misplaced;
    return;
  }
  of_district[(row.warehouse - 1u) * kDistricts + row.district - 1u] += row.amount;
  of_customer[place(row.customer_warehouse, row.customer_district, row.customer)] += row.amount;
}

Audit::Audit(const Parameters& parameters)
    : scale_(parameters.scale),
      fast_ids_(parameters.fast_ids),
      share_(parameters.share),
      taken_(parameters.warehouses) {}

void Audit::expect_payments(const PaymentSums& payments) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < payments.of_customer.size(); ++i)
    paid_.expected += weight(i) * static_cast<std::uint64_t>(payments.of_customer[i]);
}

void Audit::expect(std::size_t condition, bool holds, const std::string& where) {
  const std::lock_guard lock(mutex_);
  Condition& state = conditions_[condition];
  ++state.checked;
  if (holds) return;
  if (state.broken++ == 0) state.first = where;
}

void Audit::fail(std::size_t condition, std::string where) { expect(condition, false, where); }

void Audit::check_district(const DistrictRows& rows, const PaymentSums& payments) {
  const std::string where = fmt::format("warehouse {}, district {}", rows.warehouse, rows.number);
  check_numbers(rows, where);
  check_lines(rows, payments, where);
  check_indexes(rows, where);
}

void Audit::check_numbers(const DistrictRows& rows, const std::string& where) {
  const std::uint32_t last = rows.orders.empty() ? 0 : order_of(rows.orders.back().first);
  if (!rows.undelivered.empty()) {
    const std::uint32_t newest = order_of(rows.undelivered.back().first),
                        oldest = order_of(rows.undelivered.front().first);
    const bool next = rows.district.next_order == last + 1 || fast_ids_;  // FastIds leave D_NEXT_O_ID alone
    expect(2, next && last == newest,
           fmt::format("{}: next {}, last order {}, last new order {}", where, rows.district.next_order, last, newest));
    const bool dense =
        newest - oldest + 1 == rows.undelivered.size() || fast_ids_;  // FastIds have gaps where orders roll back
    expect(3, dense, fmt::format("{}: {} to {}, {} rows", where, oldest, newest, rows.undelivered.size()));
  } else {
    expect(3, true, {});
    expect(2, rows.district.next_order == last + 1 || fast_ids_,
           fmt::format("{}: next {}, last order {}", where, rows.district.next_order, last));
  }
  std::uint64_t deliveries = 0;
  for (const auto& [key, customer] : rows.customers) deliveries += customer.deliveries;
  const std::uint64_t at_first = scale_.customers - scale_.undelivered();
  expect(11, rows.orders.size() == rows.undelivered.size() + at_first + deliveries,
         fmt::format("{}: {} orders, {} new orders, {} delivered at first, {} since", where, rows.orders.size(),
                     rows.undelivered.size(), at_first, deliveries));
}

void Audit::check_lines(const DistrictRows& rows, const PaymentSums& payments, const std::string& where) {
  std::vector<Cents> delivered(scale_.customers + 1);
  std::vector<StockSums> taken(taken_.size());
  std::uint64_t promised = 0, matched = 0;
  auto line = rows.lines.begin();
  auto undelivered = rows.undelivered.begin();
  for (const auto& [key, order] : rows.orders) {
    const std::uint32_t number = order_of(key);
    const auto here = [&] { return fmt::format("{}, order {}", where, number); };
    promised += order.lines;
    while (undelivered != rows.undelivered.end() && undelivered->first < key) {
      fail(5, fmt::format("{}: new order {} has no order", where, order_of(undelivered->first)));
      ++undelivered;
    }
    const bool is_new = undelivered != rows.undelivered.end() && undelivered->first == key;
    if (is_new) ++undelivered;
    if ((order.carrier == 0) != is_new) fail(5, here());
    while (line != rows.lines.end() && order_of(line->first) < number) ++line;
    std::uint32_t count = 0;
    for (; line != rows.lines.end() && order_of(line->first) == number; ++line, ++count) {
      const OrderLine& row = line->second;
      if ((row.delivered == 0) != (order.carrier == 0)) fail(7, here());
      if (row.delivered != 0 && order.customer <= scale_.customers) delivered[order.customer] += row.amount;
      if (number > scale_.customers && row.supply_warehouse >= 1 && row.supply_warehouse <= taken.size()) {
        taken[row.supply_warehouse - 1u].quantity += row.quantity;
        ++taken[row.supply_warehouse - 1u].orders;
      }
    }
    matched += count;
    if (count != order.lines) fail(6, fmt::format("{}: {} lines, {} expected", here(), count, order.lines));
  }
  if (undelivered != rows.undelivered.end())
    fail(5, fmt::format("{}: new order {} has no order", where, order_of(undelivered->first)));
  expect(4, promised == rows.lines.size() && matched == rows.lines.size(),
         fmt::format("{}: {} lines promised, {} there, {} of orders", where, promised, rows.lines.size(), matched));
  for (const std::size_t condition : {5, 6, 7}) expect(condition, true, {});
  check_customers(rows, delivered, payments, where);
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    taken_[i].quantity += taken[i].quantity;
    taken_[i].orders += taken[i].orders;
  }
}

void Audit::check_customers(const DistrictRows& rows, const std::vector<Cents>& delivered, const PaymentSums& payments,
                            const std::string& where) {
  for (const std::size_t condition : {10, 12}) {
    expect(condition, rows.customers.size() == scale_.customers,
           fmt::format("{}: {} customers", where, rows.customers.size()));
  }
  if (!share_.alone()) sum_payments(rows, delivered, payments);
  for (const auto& [key, customer] : rows.customers) {
    const std::uint32_t number = customer_of(key);
    if (number > scale_.customers) continue;
    const Cents paid = payments.by_customer(rows.warehouse, rows.number, number);
    const auto here = [&] { return fmt::format("{}, customer {}: balance {}", where, number, customer.balance); };
    if (share_.alone() && customer.balance != delivered[number] - paid) {
      fail(10, fmt::format("{}, delivered {}, history {}", here(), delivered[number], paid));
    }
    if (customer.balance + customer.ytd_payment != delivered[number]) {
      fail(12, fmt::format("{}, payments {}, delivered {}", here(), customer.ytd_payment, delivered[number]));
    }
  }
  const Cents paid = payments.by_district(rows.warehouse, rows.number);
  expect(9, rows.district.ytd == paid, fmt::format("{}: D_YTD {}, history {}", where, rows.district.ytd, paid));
}

/// Sums up the payments that follow from each customer's balance.
void Audit::sum_payments(const DistrictRows& rows, const std::vector<Cents>& delivered, const PaymentSums& payments) {
  std::uint64_t sum = 0;
  for (const auto& [key, customer] : rows.customers) {
    const std::uint32_t number = customer_of(key);
    if (number > scale_.customers) continue;
    sum += weight(payments.place(rows.warehouse, rows.number, number)) *
           static_cast<std::uint64_t>(delivered[number] - customer.balance);
  }
  const std::lock_guard lock(mutex_);
  paid_.found += sum;
}

void Audit::check_indexes(const DistrictRows& rows, const std::string& where) {
  std::uint64_t astray = 0;
  for (const auto& [key, presence] : rows.by_customer) {
    const OrderKey order = order_key(rows.warehouse, rows.number, order_of(key));
    const auto at = std::lower_bound(rows.orders.begin(), rows.orders.end(), order,
                                     [](const auto& row, OrderKey k) { return row.first < k; });
    if (at == rows.orders.end() || at->first != order || at->second.customer != customer_of(key)) ++astray;
  }
  for (const auto& [key, name] : rows.names) {
    const std::size_t at = customer_of(key) - 1u;
    if (at >= rows.customers.size() || rows.customers[at].second.last.view() != name.last.view()) ++astray;
  }
  const bool complete = rows.by_customer.size() == rows.orders.size() && rows.names.size() == rows.customers.size();
  expect(kIndexes, complete && astray == 0,
         fmt::format("{}: {} entries for {} orders, {} for {} customers, {} lead astray", where,
                     rows.by_customer.size(), rows.orders.size(), rows.names.size(), rows.customers.size(), astray));
}

void Audit::check_warehouse(std::uint32_t number, const Warehouse& warehouse, const std::vector<District>& districts,
                            const PaymentSums& payments) {
  Cents sum = 0, paid = 0;
  for (const District& district : districts) sum += district.ytd;
  for (std::uint32_t district = 1; district <= kDistricts; ++district) paid += payments.by_district(number, district);
  expect(1, warehouse.ytd == sum && districts.size() == kDistricts,
         fmt::format("warehouse {}: W_YTD {}, {} districts' sum {}", number, warehouse.ytd, districts.size(), sum));
  expect(8, warehouse.ytd == paid && payments.misplaced == 0,
         fmt::format("warehouse {}: W_YTD {}, history {}, {} rows of nobody", number, warehouse.ytd, paid,
                     payments.misplaced));
}

void Audit::check_stock(std::uint32_t warehouse, const StockSums& stock) {
  if (!share_.alone()) {
    expect(kStock, true, {});
    const std::lock_guard lock(mutex_);
    stock_found_ += weighted(warehouse - 1, stock);
    return;
  }
  const StockSums taken = taken_[warehouse - 1];
  expect(kStock, stock == taken,
         fmt::format("warehouse {}: stock says {} in {} lines, order lines {} in {}", warehouse, stock.quantity,
                     stock.orders, taken.quantity, taken.orders));
}

std::vector<Finding> Audit::findings() const {
  const std::lock_guard lock(mutex_);
  std::vector<Finding> findings;
  for (std::size_t i = 1; i <= kConditions; ++i) {
    const Condition& state = conditions_[i];
    std::string detail = state.broken == 0 ? fmt::format("{} checked", state.checked)
                                           : fmt::format("{} broken; first: {}", state.broken, state.first);
    if (fast_ids_ && (i == 2 || i == 3)) detail += "; order numbers come from outside (fast ids), so only in part";
    findings.push_back({std::string(kNames[i]), state.checked != 0 && state.broken == 0, std::move(detail)});
  }
  if (share_.alone()) return findings;
  Tally stock{.expected = 0, .found = stock_found_};
  for (std::size_t i = 0; i < taken_.size(); ++i) stock.expected += weighted(i, taken_[i]);
  for (const auto& [condition, tally] : {std::pair{std::size_t{10}, paid_}, std::pair{kStock, stock}}) {
    findings[condition - 1].tally = tally;
    findings[condition - 1].detail += "; sums judged with the other nodes'";
  }
  return findings;
}

}  // namespace granary::bench::tpcc
