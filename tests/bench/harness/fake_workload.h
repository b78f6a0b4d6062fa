#pragma once
// A workload whose every figure is known beforehand: two types in turn, each request one failed attempt, every tenth
// request rolled back. An odd request is three transactions.

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "bench/harness/workload.h"

namespace granary::bench {

class FakeClient final : public Client {
 public:
  /// `all` counts the requests of all clients; none: nobody wants to know.
  explicit FakeClient(std::atomic<std::uint64_t>* all = nullptr) : all_(all) {}
  Request run_one() override {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    const auto type = static_cast<std::uint8_t>(++requests_ % 2);
    if (all_ != nullptr) all_->fetch_add(1, std::memory_order_relaxed);
    ++aborts(type)[static_cast<std::size_t>(AbortReason::kReadChanged)];
    return {type, requests_ % 10 == 0 ? Ending::kRolledBack : Ending::kCommitted, type == 1 ? 2u : 0u};
  }

 private:
  std::atomic<std::uint64_t>* const all_;
  std::uint64_t requests_ = 0;
};

class FakeWorkload : public Workload {
 public:
  std::string name() const override { return "fake"; }
  std::vector<std::string> transaction_types() const override { return {"even", "odd"}; }
  double scale_factor() const override { return 1; }
  std::uint64_t estimated_bytes() const override { return 0; }
  std::uint64_t load_units() const override { return 0; }
  Status load(unsigned, Progress&) override { return {}; }
  Result<std::unique_ptr<Client>> make_client(std::uint32_t worker) override {
    if (worker == refused_worker) return Status(StatusCode::kResourceExhausted, "no client for this worker");
    return std::unique_ptr<Client>(std::make_unique<FakeClient>(&requests_));
  }
  StoreFigures figures() const override {
    StoreFigures figures;
    figures.records_bytes = 1000;
    figures.log_bytes = log_bytes_;
    figures.log_entries = requests_.load(std::memory_order_relaxed);
    log_bytes_ += log_growth;
    return figures;
  }
  std::optional<ClusterFigures> cluster_figures() const override {
    return ClusterFigures{.attempts = requests_.load(std::memory_order_relaxed), .elsewhere = {}, .clock = {}};
  }
  void observe(const Sample& sample) override { observed.push_back(sample); }

  std::uint64_t log_growth = 0;  ///< from one look at the figures to the next
  std::uint32_t refused_worker = ~0u;
  std::vector<Sample> observed;

 private:
  std::atomic<std::uint64_t> requests_{0};  // of all clients, warm-up included
  mutable std::uint64_t log_bytes_ = 0;
};

}  // namespace granary::bench
