#pragma once
// TPC-C over any store, for the runner.

#include <functional>
#include <memory>
#include <thread>

#include "bench/store/store_figures.h"
#include "bench/tpcc/client.h"
#include "bench/tpcc/consistency.h"
#include "bench/tpcc/loader.h"

namespace granary::bench::tpcc {

template <store::Store S>
class TpccWorkload final : public Workload {
 public:
  using OpenStore = std::function<Result<std::unique_ptr<S>>()>;

  TpccWorkload(const Parameters& parameters, OpenStore open) : parameters_(parameters), open_(std::move(open)) {}

  std::string name() const override { return "tpcc"; }
  std::vector<std::string> transaction_types() const override { return {kTypeNames.begin(), kTypeNames.end()}; }
  double scale_factor() const override { return parameters_.warehouses; }
  std::uint64_t estimated_bytes() const override { return tpcc::estimated_bytes(parameters_); }
  std::uint64_t load_units() const override { return loaded_rows(parameters_); }
  /// Orders, order lines and history grow, and a larger table is a slower one.
  bool reload_each_repeat() const override { return true; }
  StoreFigures figures() const override { return store_ == nullptr ? StoreFigures{} : store_->figures(); }
  const Database* logged_database() const override {
    // No store: it could not even be opened.
    if constexpr (requires { store_->logged_database(); }) return store_ ? store_->logged_database() : nullptr;
    return nullptr;
  }

  Status load(unsigned threads, Progress& progress) override;

  Result<std::unique_ptr<Client>> make_client(std::uint32_t worker) override {
    auto session = store_->session(parameters_.seed + worker);
    if (!session.ok()) return session.status();
    return std::unique_ptr<Client>(std::make_unique<TpccClient<S>>(std::move(*session), tables_, *state_, worker));
  }

  std::vector<ExtraFigure> extra_figures() const override {
    std::vector<ExtraFigure> figures{
        {"warehouses", static_cast<double>(parameters_.warehouses)},
        {"loaded_bytes_per_warehouse", static_cast<double>(loaded_bytes_) / parameters_.own_warehouses()}};
    store::append_figures(figures, store_.get());
    return figures;
  }
  std::optional<ClusterFigures> cluster_figures() const override { return store::cluster_figures(store_.get()); }
  Status meet() override { return store::meet(store_.get()); }
  Status node_status() const override { return store::node_status(store_.get()); }

  std::vector<Finding> verify() override {
    const unsigned threads = parameters_.share.alone() ? std::max(1u, std::thread::hardware_concurrency()) : 1;
    return check_consistency(*store_, tables_, parameters_, threads);
  }

  // For tests.
  S& store() { return *store_; }
  const Tables<S>& tables() const { return tables_; }
  RunState& state() { return *state_; }

 private:
  Result<std::unique_ptr<Loader<S>>> loader(Progress& progress) {
    auto session = store_->session(0);
    if (!session.ok()) return session.status();
    return std::make_unique<Loader<S>>(std::move(*session), tables_, *state_, progress);
  }

  const Parameters parameters_;
  const OpenStore open_;
  std::unique_ptr<S> store_;
  Tables<S> tables_;
  std::unique_ptr<RunState> state_;
  std::uint64_t loaded_bytes_ = 0;
};

template <store::Store S>
Status TpccWorkload<S>::load(unsigned threads, Progress& progress) {
  store_.reset();  // before the next one takes its memory
  auto opened = open_();
  if (!opened.ok()) return opened.status();
  store_ = std::move(*opened);
  tables_ = {};
  const Status created = tables_.create(*store_, parameters_);
  if (!created.ok()) return created;
  state_ = std::make_unique<RunState>(parameters_);
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
  const Status finished = (*last)->load_warehouses();
  loaded_bytes_ = store_->figures().memory_bytes;
  if (!finished.ok() || !parameters_.snapshot_stock_level) return finished;
  return (*last)->await_snapshot();
}

}  // namespace granary::bench::tpcc
