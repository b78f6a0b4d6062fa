#pragma once
// YCSB over any store: loading, clients, and checks of what must hold afterwards.

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/harness/machine.h"
#include "bench/store/store_figures.h"
#include "bench/ycsb/client.h"

namespace granary::bench::ycsb {

template <typename Store>
class YcsbWorkload final : public Workload {
 public:
  YcsbWorkload(std::string name, const Settings& settings, const Parameters& parameters)
      : name_(std::move(name)),
        settings_(settings),
        parameters_(parameters),
        types_(parameters.mix),
        zipf_(parameters.keys, parameters.theta),
        keys_(parameters.keys) {}

  std::string name() const override { return name_; }
  std::vector<std::string> transaction_types() const override { return types_.names; }
  double scale_factor() const override { return static_cast<double>(parameters_.ranges().count()) / 1e6; }
  std::uint64_t estimated_bytes() const override { return ycsb::estimated_bytes(parameters_); }
  std::uint64_t load_units() const override { return parameters_.keys; }
  bool reload_each_repeat() const override { return parameters_.mix.share(Operation::kInsert) != 0; }
  StoreFigures figures() const override { return store_->figures(); }
  const Database* logged_database() const override {
    // No store: it could not even be opened.
    if constexpr (requires { store_->logged_database(); }) return store_ ? store_->logged_database() : nullptr;
    return nullptr;
  }

  Status load(unsigned threads, Progress& progress) override;
  Result<std::unique_ptr<Client>> make_client(std::uint32_t worker) override {
    auto session = store_->session(parameters_.seed + worker);
    if (!session.ok()) return session.status();
    return std::unique_ptr<Client>(std::make_unique<YcsbClient<Store>>(std::move(*session), parameters_, types_, zipf_,
                                                                       keys_, worker, additions_));
  }
  std::vector<ExtraFigure> extra_figures() const override {
    const double records = static_cast<double>(keys_.count());
    std::vector<ExtraFigure> figures{
        {"theta", parameters_.theta},
        {"bytes_per_record", static_cast<double>(store_->figures().memory_bytes) / records},
        {"loaded_resident_bytes_per_record", loaded_resident_bytes_ / static_cast<double>(parameters_.keys)}};
    store::append_figures(figures, store_.get());
    return figures;
  }
  std::optional<ClusterFigures> cluster_figures() const override { return store::cluster_figures(store_.get()); }
  Status meet() override { return store::meet(store_.get()); }
  Status node_status() const override { return store::node_status(store_.get()); }
  std::vector<Finding> verify() override;

 private:
  using Session = typename Store::Session;
  template <typename Visit>
  void visit_all(Session& session, Visit&& visit);
  Status load_range(const std::vector<std::uint64_t>* order, std::uint64_t from, std::uint64_t to, Progress& progress);

  const std::string name_;
  const Settings settings_;
  const Parameters parameters_;
  const TypeMap types_;
  const base::Zipf zipf_;
  KeySpace keys_;
  std::unique_ptr<Store> store_;
  double loaded_resident_bytes_ = 0;
  std::atomic<std::uint64_t> additions_{0};  // committed read-modify-writes: see YcsbClient
};

template <typename Store>
Status YcsbWorkload<Store>::load(unsigned threads, Progress& progress) {
  const std::uint64_t resident_before = resident_bytes();
  auto opened = Store::open(settings_, parameters_);
  if (!opened.ok()) return opened.status();
  store_ = std::move(*opened);
  std::vector<std::uint64_t> order;
  if (parameters_.random_load_order) {
    order.resize(parameters_.keys);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::shuffle(order.begin(), order.end(), base::Random(parameters_.seed));
  }
  std::mutex mutex;
  Status failed;
  std::vector<std::thread> loaders;
  for (unsigned i = 0; i < threads; ++i) {
    const std::uint64_t from = parameters_.keys * i / threads, to = parameters_.keys * (i + 1) / threads;
    loaders.emplace_back([&, from, to] {
      const Status done = load_range(order.empty() ? nullptr : &order, from, to, progress);
      const std::lock_guard lock(mutex);
      if (!done.ok()) failed = done;
    });
  }
  for (std::thread& loader : loaders) loader.join();
  loaded_resident_bytes_ = static_cast<double>(resident_bytes()) - static_cast<double>(resident_before) -
                           static_cast<double>(order.size() * sizeof(std::uint64_t));
  return failed;
}

template <typename Store>
Status YcsbWorkload<Store>::load_range(const std::vector<std::uint64_t>* order, std::uint64_t from, std::uint64_t to,
                                       Progress& progress) {
  constexpr std::uint64_t kReportEvery = 1024;
  auto session = store_->session(from);
  if (!session.ok()) return session.status();
  const std::vector<char> value(parameters_.value_bytes);
  AbortCounts aborts{};
  for (std::uint64_t i = from; i < to; ++i) {
    const KeyBytes key(parameters_.first_key() + (order == nullptr ? i : (*order)[i]));
    if ((*session)->insert(key.view(), {value.data(), value.size()}, aborts) != Ending::kCommitted) {
      return Status(
          StatusCode::kResourceExhausted,
          fmt::format("no memory left after {} of {} keys; use fewer --keys, or {}", i - from, to - from, kMoreMemory));
    }
    if ((i + 1 - from) % kReportEvery == 0) progress.add(kReportEvery);
  }
  progress.add((to - from) % kReportEvery);
  return {};
}

/// In chunks, in order; those of a hash index, which cannot be scanned, key by key.
template <typename Store>
template <typename Visit>
void YcsbWorkload<Store>::visit_all(Session& session, Visit&& visit) {
  constexpr std::size_t kChunk = 1000;
  std::vector<char> buffer(parameters_.value_bytes);
  AbortCounts aborts{};
  for (std::uint64_t number = 0; parameters_.hash && number < keys_.count(); ++number) {
    const KeyBytes key(parameters_.first_key() + number);
    if (session.find(key.view(), buffer, aborts)) visit(key.view(), std::string_view(buffer.data(), buffer.size()));
  }
  std::uint64_t next = 0;
  for (std::size_t seen = kChunk; !parameters_.hash && seen == kChunk;) {
    seen = 0;
    const auto visit_one = [&](std::string_view key, std::string_view value) {
      next = KeyBytes::number(key) + 1;
      ++seen;
      visit(key, value);
      return true;
    };
    session.scan(KeyBytes(next).view(), kChunk, buffer, visit_one, aborts);
  }
}

/// Looks at all records: keys complete and in order, values whole, and no read-modify-write lost.
template <typename Store>
std::vector<Finding> YcsbWorkload<Store>::verify() {
  auto session = store_->session(0);
  if (!session.ok()) return {{"a session for the check", false, session.status().message()}};
  std::uint64_t records = 0, sum = 0, torn = 0, misplaced = 0, next = 0;
  visit_all(**session, [&](std::string_view key, std::string_view value) {
    const std::uint64_t number = KeyBytes::number(key);
    if (number < next) ++misplaced;
    next = number + 1;
    ++records;
    if (!whole(value)) ++torn;
    sum += counter_of(value);
  });
  std::vector<Finding> findings;
  findings.push_back({"every key is there once, in order", records == keys_.count() && misplaced == 0,
                      fmt::format("{} records, {} expected, {} out of order", records, keys_.count(), misplaced)});
  findings.push_back({"no value is torn", torn == 0, fmt::format("{} torn", torn)});
  if (parameters_.mix.share(Operation::kUpdate) == 0) {
    const std::uint64_t added = additions_.load(std::memory_order_relaxed);
    findings.push_back(sums_agree("no read-modify-write is lost", {added, sum}, parameters_.share));
  }
  return findings;
}

}  // namespace granary::bench::ycsb
