#pragma once
// Reads a whole store, district by district, and hands it to the audit. No client may write meanwhile, because the
// scans are separate transactions of moderate size, one after the other.

#include <memory>

#include "bench/tpcc/audit.h"
#include "bench/harness/jobs.h"
#include "bench/tpcc/run_state.h"
#include "bench/tpcc/tables.h"

namespace granary::bench::tpcc {

template <store::Store S>
class Inspector {
 public:
  Inspector(std::unique_ptr<typename S::Session> session, const Tables<S>& tables, const Parameters& parameters,
            Audit& audit)
      : session_(std::move(session)),
        tables_(tables),
        parameters_(parameters),
        audit_(audit) {}

  void add_payments(PaymentSums& sums) {
    const std::uint64_t first = parameters_.first_history_origin(), last = first + parameters_.history_origins() - 1;
    for (std::uint32_t part = 0; part < tables_.history.parts(); ++part) {
      visit_all(tables_.history[part], part, history_key(first, 0), history_key(last, 0xffff'ffff'ffff),
                [&](HistoryKey, const History& row) { sums.add(row); });
    }
  }

  void check_district(std::uint32_t warehouse, std::uint32_t number, const PaymentSums& payments) {
    const std::uint32_t part = tables_.partition_of(warehouse), w = warehouse, d = number;
    DistrictRows rows;
    rows.warehouse = warehouse;
    rows.number = number;
    if (!get(tables_.district[part], part, district_key(w, d), rows.district))
      return audit_.fail(2, "a district is missing");
    visit_numbered(tables_.customer[part], part, customer_key(w, d, 0), customer_key(w, d + 1, 0),
                   parameters_.scale.customers,
                   [&](CustomerKey key, const Customer& row) { rows.customers.emplace_back(key, row); });
    take_all(tables_.customer_by_name[part], part, customer_name_key(w, d, 0, 0), customer_name_key(w, d + 1, 0, 0),
             rows.names);
    take_all(tables_.order[part], part, order_key(w, d, 0), order_key(w, d + 1, 0), rows.orders);
    take_all(tables_.new_order[part], part, order_key(w, d, 0), order_key(w, d + 1, 0), rows.undelivered);
    take_all(tables_.order_by_customer[part], part, customer_order_key(w, d, 0, 0), customer_order_key(w, d + 1, 0, 0),
             rows.by_customer);
    take_all(tables_.order_line[part], part, order_line_key(w, d, 0, 0), order_line_key(w, d + 1, 0, 0), rows.lines);
    audit_.check_district(rows, payments);
  }

  /// Checks a warehouse and its stock. Called after all districts.
  void check_warehouse(std::uint32_t number, const PaymentSums& payments) {
    const std::uint32_t part = tables_.partition_of(number);
    Warehouse warehouse;
    if (!get(tables_.warehouse[part], part, warehouse_key(number), warehouse))
      return audit_.fail(1, "a warehouse is missing");
    std::vector<District> districts;
    visit_numbered(tables_.district[part], part, district_key(number, 0), district_key(number + 1, 0), kDistricts,
                   [&](DistrictKey, const District& row) { districts.push_back(row); });
    audit_.check_warehouse(number, warehouse, districts, payments);
    StockSums sums;
    visit_numbered(tables_.stock[part], part, stock_key(number, 0), stock_key(number + 1, 0), parameters_.scale.items,
                   [&](StockKey, const Stock& row) {
                     sums.quantity += row.ytd;
                     sums.orders += row.orders;
                   });
    audit_.check_stock(number, sums);
  }

 private:
  template <typename Table, typename K, typename V>
  bool get(const Table& table, std::uint32_t part, K key, V& row) {
    Outcome outcome = Outcome::kNotFound;
    session_->run({part}, aborts_, [&](auto& t) {
      outcome = t.get(table, key, row);
      return store::Verdict::kCommit;
    });
    return outcome == Outcome::kOk;
  }

  /// Visits [from, to). It reads each chunk in a transaction, which may run several times, and visits it when the
  /// transaction has committed.
  template <typename K, typename V, typename Visit>
  void visit_all(const typename S::template Table<K, V>& table, std::uint32_t part, K from, K to, Visit&& visit) {
    constexpr std::size_t kChunk = 4096;
    Rows<K, V> chunk;
    do {
      const Ending ending = session_->run({part}, aborts_, [&](auto& t) {
        chunk.clear();
        const auto take = [&](K key, const V& row) {
          chunk.emplace_back(key, row);
          return chunk.size() < kChunk;
        };
        return t.scan(table, from, to, take) == Outcome::kOk ? store::Verdict::kCommit : store::Verdict::kRetry;
      });
      if (ending != Ending::kCommitted) return audit_.fail(Audit::kIndexes, "a table could not be read");
      for (const auto& [key, row] : chunk) visit(key, row);
      if (!chunk.empty()) from = K{static_cast<std::uint64_t>(chunk.back().first) + 1};
    } while (chunk.size() == kChunk);
  }
  /// Visits the rows of a table that may have a hash index, which cannot be scanned. Their keys are `from` + 1 to
  /// `from` + `count`.
  template <typename K, typename V, typename Visit>
  void visit_numbered(const typename S::template Table<K, V>& table, std::uint32_t part, K from, K to,
                      std::uint64_t count, Visit&& visit) {
    if (!parameters_.mixed_index) return visit_all(table, part, from, to, visit);
    for (std::uint64_t number = 1; number <= count; ++number) {
      const K key{static_cast<std::uint64_t>(from) + number};
      V row;
      if (get(table, part, key, row)) visit(key, row);
    }
  }
  template <typename K, typename V>
  void take_all(const typename S::template Table<K, V>& table, std::uint32_t part, K from, K to, Rows<K, V>& rows) {
    visit_all(table, part, from, to, [&](K key, const V& row) { rows.emplace_back(key, row); });
  }

  std::unique_ptr<typename S::Session> session_;
  const Tables<S>& tables_;
  const Parameters& parameters_;
  Audit& audit_;
  AbortCounts aborts_{};
};

/// Returns all findings about the data in `tables`.
template <store::Store S>
std::vector<Finding> check_consistency(S& store, const Tables<S>& tables, const Parameters& parameters,
                                       unsigned threads) {
  Audit audit(parameters);
  PaymentSums payments(parameters.warehouses, parameters.scale);
  const auto inspector = [&]() -> Result<Inspector<S>> {
    auto session = store.session(0);
    if (!session.ok()) return session.status();
    return Inspector<S>(std::move(*session), tables, parameters, audit);
  };
  {  // a node of a cluster has few sessions, so each is given back before the next is taken
    auto first = inspector();
    if (!first.ok()) return {{"a session for the check", false, first.status().message()}};
    first->add_payments(payments);
  }
  audit.expect_payments(payments);
  const auto district_worker = [&]() -> Result<std::function<Status(std::size_t)>> {
    auto made = inspector();
    if (!made.ok()) return made.status();
    auto shared = std::make_shared<Inspector<S>>(std::move(*made));
    return std::function<Status(std::size_t)>([shared, &payments, &parameters](std::size_t job) {
      shared->check_district(parameters.first_warehouse() + static_cast<std::uint32_t>(job / kDistricts),
                             static_cast<std::uint32_t>(job % kDistricts + 1), payments);
      return Status();
    });
  };
  const Status done = run_jobs(threads, std::size_t{parameters.own_warehouses()} * kDistricts, district_worker);
  if (!done.ok()) return {{"a session for the check", false, done.message()}};
  auto last = inspector();
  if (!last.ok()) return {{"a session for the check", false, last.status().message()}};
  for (std::uint32_t i = 0; i < parameters.own_warehouses(); ++i)
    last->check_warehouse(parameters.first_warehouse() + i, payments);
  return audit.findings();
}

}  // namespace granary::bench::tpcc
