#pragma once
// Transactions of several records over any store, some of them only read.

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "bench/lease/client.h"
#include "bench/store/range_work.h"
#include "bench/store/store_figures.h"

namespace granary::bench::lease {

template <store::Store S>
class LeaseWorkload final : public Workload {
 public:
  using OpenStore = std::function<Result<std::unique_ptr<S>>()>;

  LeaseWorkload(const Parameters& parameters, OpenStore open)
      : parameters_(parameters),
        open_(std::move(open)),
        work_(parameters.ranges(), parameters.share) {}

  std::string name() const override { return "lease"; }
  std::vector<std::string> transaction_types() const override { return {"records"}; }
  double scale_factor() const override { return static_cast<double>(parameters_.keys) / 1e6; }
  std::uint64_t estimated_bytes() const override { return lease::estimated_bytes(parameters_); }
  std::uint64_t load_units() const override { return work_.keys(); }
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
    return std::unique_ptr<Client>(
        std::make_unique<LeaseClient<S>>(std::move(*session), tables_, parameters_, worker, increments_));
  }

  std::vector<ExtraFigure> extra_figures() const override {
    std::vector<ExtraFigure> figures;
    store::append_figures(figures, store_.get());
    return figures;
  }
  std::optional<ClusterFigures> cluster_figures() const override { return store::cluster_figures(store_.get()); }
  Status meet() override { return store::meet(store_.get()); }
  Status node_status() const override { return store::node_status(store_.get()); }

  std::vector<Finding> verify() override;

 private:
  using Session = typename S::Session;
  Status load_piece(Session& session, const store::Piece& piece, Progress& progress);
  Status sum_piece(Session& session, const store::Piece& piece, std::atomic<std::uint64_t>& sum);

  const Parameters parameters_;
  const OpenStore open_;
  const store::RangeWork work_;
  std::unique_ptr<S> store_;
  Tables<S> tables_;
  std::atomic<std::uint64_t> increments_{0};
};

template <store::Store S>
Status LeaseWorkload<S>::load(unsigned threads, Progress& progress) {
  auto opened = open_();
  if (!opened.ok()) return opened.status();
  store_ = std::move(*opened);
  const KeyRanges ranges = parameters_.ranges();
  const std::uint32_t parts = store_->splits_tables() ? ranges.parts() : 1;
  const store::TableLayout layout{parameters_.hash, work_.keys() / parts + 1,
                                  [=](std::uint64_t key) { return ranges.part_of(key); }};
  for (std::uint32_t part = 0; part < parts; ++part) {
    auto table = store_->template create_table<RecordKey, Record>("records", part, layout);
    if (!table.ok()) return table.status();
    tables_.add(*table);
  }
  return work_.run(*store_, threads,
                   [&](Session& session, const store::Piece& piece) { return load_piece(session, piece, progress); });
}

template <store::Store S>
Status LeaseWorkload<S>::load_piece(Session& session, const store::Piece& piece, Progress& progress) {
  constexpr std::uint64_t kBatch = 100;
  AbortCounts aborts{};
  for (std::uint64_t from = piece.keys.from; from < piece.keys.to; from += kBatch) {
    const std::uint64_t to = std::min(from + kBatch, piece.keys.to);
    const Ending ending = session.run({piece.partition}, aborts, [&](auto& t) {
      for (std::uint64_t key = from; key < to; ++key) {
        if (t.insert(tables_[piece.partition], RecordKey{key}, Record{}) != Outcome::kOk) return store::Verdict::kRetry;
      }
      return store::Verdict::kCommit;
    });
    if (ending != Ending::kCommitted) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("memory ran out while loading; use fewer --keys, or {}", kMoreMemory));
    }
    progress.add(to - from);
  }
  return {};
}

/// Adds up the piece's counts. Nobody writes meanwhile.
template <store::Store S>
Status LeaseWorkload<S>::sum_piece(Session& session, const store::Piece& piece, std::atomic<std::uint64_t>& sum) {
  AbortCounts aborts{};
  std::uint64_t here = 0;
  for (std::uint64_t key = piece.keys.from; key < piece.keys.to; ++key) {
    Record record{};
    const Ending ending = session.run({piece.partition}, aborts, [&](auto& t) {
      return t.get(tables_[piece.partition], RecordKey{key}, record) == Outcome::kOk ? store::Verdict::kCommit
                                                                                     : store::Verdict::kRollBack;
    });
    if (ending != Ending::kCommitted || !record.whole())
      return Status(StatusCode::kDamaged, fmt::format("record {} is missing or torn", key));
    here += record.count;
  }
  sum.fetch_add(here, std::memory_order_relaxed);
  return {};
}

template <store::Store S>
std::vector<Finding> LeaseWorkload<S>::verify() {
  std::atomic<std::uint64_t> found{0};
  const Status read =
      work_.run(*store_, parameters_.share.alone() ? std::max(1u, std::thread::hardware_concurrency()) : 1,
                [&](Session& session, const store::Piece& piece) { return sum_piece(session, piece, found); });
  const Tally increments{increments_.load(std::memory_order_relaxed), found.load()};
  return {{"every record is there and whole", read.ok(),
           read.ok() ? fmt::format("{} records", work_.keys()) : read.message()},
          sums_agree("increments committed = counts of all records", increments, parameters_.share)};
}

}  // namespace granary::bench::lease
