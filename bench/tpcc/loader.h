#pragma once
// Fills a store with the initial rows. Several threads share the jobs, each of one district, or of some items or
// stocks. The warehouses come last, so that a reader that sees a warehouse sees all that belongs to it.

#include <chrono>
#include <thread>

#include "bench/harness/workload.h"
#include "bench/harness/given_up.h"
#include "bench/harness/jobs.h"
#include "bench/tpcc/population.h"
#include "bench/tpcc/requests.h"

namespace granary::bench::tpcc {

template <store::Store S>
class Loader {
 public:
  Loader(std::unique_ptr<typename S::Session> session, const Tables<S>& tables, const RunState& state,
         Progress& progress)
      : session_(std::move(session)),
        tables_(tables),
        state_(state),
        scale_(state.parameters.scale),
        progress_(progress) {}

  static constexpr std::uint32_t kChunk = 10'000;
  static std::size_t chunks(const Scale& scale) { return (scale.items + kChunk - 1) / kChunk; }
  /// Returns the number of jobs. The first chunks() jobs load items. Then each own warehouse has as many for its
  /// stocks, and one for each district.
  static std::size_t jobs(const Parameters& parameters) {
    return chunks(parameters.scale) + parameters.own_warehouses() * (chunks(parameters.scale) + kDistricts);
  }

  Status run(std::size_t job) {
    const std::size_t item_jobs = chunks(scale_), jobs_a_warehouse = item_jobs + kDistricts;
    // Skips the jobs of earlier nodes, so that each job has a number of its own in the whole cluster.
    if (job >= item_jobs) job += (state_.parameters.first_warehouse() - 1) * jobs_a_warehouse;
    random_ = Random(state_.parameters.seed, 0x6c6f616400000000 + job, state_.parameters.text_ratio);
    if (job < item_jobs) return load_items(job);
    const auto warehouse = static_cast<std::uint32_t>((job - item_jobs) / jobs_a_warehouse + 1);
    const std::size_t part = (job - item_jobs) % jobs_a_warehouse;
    if (part < item_jobs) return load_stocks(warehouse, part);
    return load_district(warehouse, static_cast<std::uint32_t>(part - item_jobs + 1));
  }

  Status load_warehouses() {
    random_ = Random(state_.parameters.seed, 0x77617265686f7573, state_.parameters.text_ratio);
    const Parameters& parameters = state_.parameters;
    for (std::uint32_t i = 0; i < parameters.own_warehouses(); ++i) {
      const std::uint32_t warehouse = parameters.first_warehouse() + i;
      Rows<WarehouseKey, Warehouse> rows{{warehouse_key(warehouse), make_warehouse(random_, scale_)}};
      const Status done =
          insert(tables_.warehouse[tables_.partition_of(warehouse)], tables_.partition_of(warehouse), rows);
      if (!done.ok()) return done;
    }
    return {};
  }

  /// Waits until snapshots see the loaded rows, as they show the state of some time ago.
  Status await_snapshot() {
    constexpr int kMostTurns = 60'000;
    const std::uint32_t warehouse = state_.parameters.first_warehouse() + state_.parameters.own_warehouses() - 1;
    const std::uint32_t part = tables_.partition_of(warehouse);
    for (int turn = 0; turn < kMostTurns; ++turn) {
      Outcome outcome = Outcome::kNotFound;
      session_->run_snapshot({part}, aborts_, [&](auto& t) {
        Warehouse row;
        outcome = t.get(tables_.warehouse[part], warehouse_key(warehouse), row);
        return store::Verdict::kCommit;
      });
      if (outcome == Outcome::kOk) return {};
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return Status(StatusCode::kUnavailable, "snapshots do not advance; shorten --epoch_ms or --snapshot_epochs");
  }

 private:
  std::pair<std::uint32_t, std::uint32_t> range_of(std::size_t chunk) const {
    const auto from = static_cast<std::uint32_t>(chunk * kChunk);
    return {1 + from, 1 + std::min(from + kChunk, scale_.items)};
  }

  Status load_items(std::size_t chunk) {
    const auto [from, to] = range_of(chunk);
    return insert(tables_.item, 0, make_items(random_, from, to));
  }

  Status load_stocks(std::uint32_t warehouse, std::size_t chunk) {
    const std::uint32_t part = tables_.partition_of(warehouse);
    const auto [from, to] = range_of(chunk);
    const Status done = insert(tables_.stock[part], part, make_stocks(random_, warehouse, from, to));
    return done.ok() ? insert(tables_.stock_text[part], part, make_stock_texts(random_, warehouse, from, to)) : done;
  }

  Status load_district(std::uint32_t warehouse, std::uint32_t district) {
    const std::uint32_t part = tables_.partition_of(warehouse);
    const Date date = now();
    const Customers customers = make_customers(random_, scale_, state_.constants, warehouse, district, date,
                                               state_.parameters.first_history_origin());
    const Orders orders = make_orders(random_, scale_, warehouse, district, date);
    const Rows<DistrictKey, District> row{{district_key(warehouse, district), make_district(random_, scale_)}};
    Status done = insert(tables_.customer[part], part, customers.rows);
    if (done.ok()) done = insert(tables_.customer_data[part], part, customers.data);
    if (done.ok()) done = insert(tables_.customer_by_name[part], part, customers.by_name);
    if (done.ok()) done = insert(tables_.history[part], part, customers.history);
    if (done.ok()) done = insert(tables_.order[part], part, orders.rows);
    if (done.ok()) done = insert(tables_.order_line[part], part, orders.lines);
    if (done.ok()) done = insert(tables_.new_order[part], part, orders.undelivered);
    if (done.ok()) done = insert(tables_.order_by_customer[part], part, orders.by_customer);
    return done.ok() ? insert(tables_.district[part], part, row) : done;
  }

  template <typename Table, typename K, typename V>
  Status insert(const Table& table, std::uint32_t part, const Rows<K, V>& rows) {
    constexpr std::size_t kBatch = 100;
    for (std::size_t from = 0; from < rows.size(); from += kBatch) {
      const std::size_t to = std::min(from + kBatch, rows.size());
      const Ending ending = session_->run({part}, aborts_, [&](auto& t) {
        for (std::size_t i = from; i < to; ++i) {
          if (t.insert(table, rows[i].first, rows[i].second) != Outcome::kOk) return store::Verdict::kRetry;
        }
        return store::Verdict::kCommit;
      });
      if (ending != Ending::kCommitted) return load_failure(aborts_, "", "--warehouses");
      progress_.add(to - from);
    }
    return {};
  }

  std::unique_ptr<typename S::Session> session_;
  const Tables<S>& tables_;
  const RunState& state_;
  const Scale& scale_;
  Progress& progress_;
  Random random_{0};
  AbortCounts aborts_{};
};

}  // namespace granary::bench::tpcc
