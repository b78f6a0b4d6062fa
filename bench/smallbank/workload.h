#pragma once
// SmallBank over any store: loading, clients, and the money that must be there afterwards.

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "bench/smallbank/client.h"
#include "bench/store/range_work.h"
#include "bench/store/store_figures.h"

namespace granary::bench::smallbank {

template <store::Store S>
class BankWorkload final : public Workload {
 public:
  using OpenStore = std::function<Result<std::unique_ptr<S>>()>;

  BankWorkload(const Parameters& parameters, OpenStore open)
      : parameters_(parameters),
        open_(std::move(open)),
        work_(parameters.ranges(), parameters.share) {}

  std::string name() const override { return "smallbank"; }
  std::vector<std::string> transaction_types() const override { return {kTypeNames.begin(), kTypeNames.end()}; }
  double scale_factor() const override { return static_cast<double>(parameters_.customers) / 1e6; }
  std::uint64_t estimated_bytes() const override { return smallbank::estimated_bytes(parameters_); }
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
        std::make_unique<BankClient<S>>(std::move(*session), tables_, parameters_, worker, sums_));
  }

  std::vector<ExtraFigure> extra_figures() const override {
    std::vector<ExtraFigure> figures;
    store::append_figures(figures, store_.get());
    if (parameters_.partitions == 1 || !parameters_.share.alone()) return figures;
    const auto requests = static_cast<double>(sums_.requests.load(std::memory_order_relaxed));
    const auto distributed = static_cast<double>(sums_.distributed.load(std::memory_order_relaxed));
    figures.push_back({"distributed_share", requests == 0 ? 0 : distributed / requests});
    return figures;
  }
  std::optional<ClusterFigures> cluster_figures() const override { return store::cluster_figures(store_.get()); }
  Status meet() override { return store::meet(store_.get()); }
  Status node_status() const override { return store::node_status(store_.get()); }

  std::vector<Finding> verify() override;

  // For tests.
  S& store() { return *store_; }
  const Tables<S>& tables() const { return tables_; }

 private:
  using Session = typename S::Session;
  Status load_piece(Session& session, const store::Piece& piece, Progress& progress);
  Status sum_piece(Session& session, const store::Piece& piece, std::atomic<Cents>& sum);

  const Parameters parameters_;
  const OpenStore open_;
  const store::RangeWork work_;
  std::unique_ptr<S> store_;
  Tables<S> tables_;
  std::atomic<Cents> loaded_{0};  // added to by loaders, read after them; relaxed
  ClientSums sums_;
};

template <store::Store S>
Status BankWorkload<S>::load(unsigned threads, Progress& progress) {
  auto opened = open_();
  if (!opened.ok()) return opened.status();
  store_ = std::move(*opened);
  const Status created = tables_.create(*store_, parameters_);
  if (!created.ok()) return created;
  return work_.run(*store_, threads,
                   [&](Session& session, const store::Piece& piece) { return load_piece(session, piece, progress); });
}

template <store::Store S>
Status BankWorkload<S>::load_piece(Session& session, const store::Piece& piece, Progress& progress) {
  constexpr std::uint64_t kBatch = 100;
  constexpr Cents kLeast = 10'000'00, kMost = 50'000'00;
  base::Random random(parameters_.seed, 0x6c6f616400000000 + piece.keys.from);
  AbortCounts aborts{};
  for (std::uint64_t from = piece.keys.from; from < piece.keys.to; from += kBatch) {
    const std::uint64_t to = std::min(from + kBatch, piece.keys.to);
    Cents batch = 0;
    const Ending ending = session.run({piece.partition}, aborts, [&](auto& t) {
      batch = 0;
      for (std::uint64_t number = from; number < to; ++number) {
        const CustomerKey key{number};
        Account account{number, {}};
        fmt::format_to_n(account.name, sizeof account.name, "customer {}", number);
        const Balance savings{random.between(kLeast, kMost)}, checking{random.between(kLeast, kMost)};
        if (t.insert(tables_.account[piece.partition], key, account) != Outcome::kOk ||
            t.insert(tables_.savings[piece.partition], key, savings) != Outcome::kOk ||
            t.insert(tables_.checking[piece.partition], key, checking) != Outcome::kOk) {
          return store::Verdict::kRetry;
        }
        batch += savings.cents + checking.cents;
      }
      return store::Verdict::kCommit;
    });
    if (ending != Ending::kCommitted) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("memory ran out while loading; use fewer --accounts, or {}", kMoreMemory));
    }
    loaded_.fetch_add(batch, std::memory_order_relaxed);
    progress.add(to - from);
  }
  return {};
}

/// Adds up the piece's balances. Nobody writes meanwhile.
template <store::Store S>
Status BankWorkload<S>::sum_piece(Session& session, const store::Piece& piece, std::atomic<Cents>& sum) {
  AbortCounts aborts{};
  Cents here = 0;
  for (std::uint64_t number = piece.keys.from; number < piece.keys.to; ++number) {
    Cents balance = 0;
    const Ending ending = session.run({piece.partition}, aborts, [&]<typename T>(T& t) {
      Teller<S, T> teller(t, tables_);
      const Customer customer{CustomerKey{number}, piece.partition};
      if (!teller.fetch({{customer, Use::kRead, Use::kRead}})) return store::Verdict::kRollBack;
      balance = teller.savings(0) + teller.checking(0);
      return store::Verdict::kCommit;
    });
    if (ending != Ending::kCommitted)
      return Status(StatusCode::kDamaged, fmt::format("customer {} is not complete", number));
    here += balance;
  }
  sum.fetch_add(here, std::memory_order_relaxed);
  return {};
}

template <store::Store S>
std::vector<Finding> BankWorkload<S>::verify() {
  std::atomic<Cents> found{0};
  const Status read =
      work_.run(*store_, parameters_.share.alone() ? std::max(1u, std::thread::hardware_concurrency()) : 1,
                [&](Session& session, const store::Piece& piece) { return sum_piece(session, piece, found); });
  const Cents expected = loaded_.load(std::memory_order_relaxed) + sums_.deposited.load(std::memory_order_relaxed);
  const Tally money{static_cast<std::uint64_t>(expected), static_cast<std::uint64_t>(found.load())};
  return {{"every customer has an account and both balances", read.ok(),
           read.ok() ? fmt::format("{} customers", load_units()) : read.message()},
          sums_agree("money in cents: loaded, deposited and withdrawn = all balances", money, parameters_.share)};
}

}  // namespace granary::bench::smallbank
