#pragma once
// Runs TPC-C on any store, for the runner.

#include <functional>
#include <memory>

#include "bench/store/store_workload.h"
#include "bench/tpcc/client.h"
#include "bench/tpcc/consistency.h"
#include "bench/tpcc/loader.h"

namespace granary::bench::tpcc {

template <store::Store S>
class TpccWorkload final : public store::StoreWorkload<S> {
  using Base = store::StoreWorkload<S>;

 public:
  using typename Base::OpenStore;

  TpccWorkload(const Parameters& parameters, OpenStore open)
      : Base(std::move(open), parameters.share, parameters.seed),
        parameters_(parameters) {}

  std::string name() const override { return "tpcc"; }
  std::vector<std::string> transaction_types() const override { return {kTypeNames.begin(), kTypeNames.end()}; }
  double scale_factor() const override { return parameters_.warehouses; }
  std::uint64_t estimated_bytes() const override { return tpcc::estimated_bytes(parameters_); }
  std::uint64_t load_units() const override { return loaded_rows(parameters_); }
  /// Returns true, because orders, order lines and history grow, and a larger table is a slower one.
  bool reload_each_repeat() const override { return true; }
  Status load(unsigned threads, Progress& progress) override;
  Status come_back() override;
  std::vector<Finding> verify() override {
    return check_consistency(this->store(), tables_, parameters_, this->checkers());
  }

  // The following is for tests.
  const Tables<S>& tables() const { return tables_; }
  RunState& state() { return *state_; }

 private:
  std::vector<ExtraFigure> own_figures() const override {
    return {{"warehouses", static_cast<double>(parameters_.warehouses)},
            {"loaded_bytes_per_warehouse", static_cast<double>(loaded_bytes_) / parameters_.own_warehouses()}};
  }
  std::unique_ptr<Client> client_on(std::unique_ptr<typename Base::Session> session, std::uint32_t worker) override {
    return std::make_unique<TpccClient<S>>(std::move(session), tables_, *state_, worker);
  }
  Status create();
  Result<std::unique_ptr<Loader<S>>> loader(Progress& progress) {
    auto session = this->store().session(0);
    if (!session.ok()) return session.status();
    return std::make_unique<Loader<S>>(std::move(*session), tables_, *state_, progress);
  }

  const Parameters parameters_;
  Tables<S> tables_;
  std::unique_ptr<RunState> state_;
  std::uint64_t loaded_bytes_ = 0;
};

template <store::Store S>
Status TpccWorkload<S>::create() {
  if (Status opened = this->open_store(); !opened.ok()) return opened;
  tables_ = {};
  if (Status created = tables_.create(this->store(), parameters_); !created.ok()) return created;
  state_ = std::make_unique<RunState>(parameters_);
  return {};
}

/// Comes back after a kill. Clients number their rows of history after those of all clients of the life before.
template <store::Store S>
Status TpccWorkload<S>::come_back() {
  if (Status created = create(); !created.ok()) return created;
  state_->next_history_origin.fetch_add(kMostTrackedWorkers, std::memory_order_relaxed);
  return this->return_to_others();
}

template <store::Store S>
Status TpccWorkload<S>::load(unsigned threads, Progress& progress) {
  if (Status created = create(); !created.ok()) return created;
  const auto make_worker = [&]() -> Result<std::function<Status(std::size_t)>> {
    auto made = loader(progress);
    if (!made.ok()) return made.status();
    std::shared_ptr<Loader<S>> shared = std::move(*made);
    return std::function<Status(std::size_t)>([shared](std::size_t job) { return shared->run(job); });
  };
  const Status done = run_jobs(threads, Loader<S>::jobs(parameters_), make_worker);
  if (!done.ok()) return done;
  auto last = loader(progress);
  if (!last.ok()) return last.status();
  Status finished = (*last)->load_warehouses();
  if (finished.ok()) finished = tables_.seal([this](const auto& table) { return this->seal(table); });
  loaded_bytes_ = this->store().figures().memory_bytes;
  if (!finished.ok() || !parameters_.snapshot_stock_level) return finished;
  return (*last)->await_snapshot();
}

}  // namespace granary::bench::tpcc
