#pragma once
// A workload whose rows all belong to keys 0 … count − 1, which partitions share by range: loaded and checked key by
// key, and sums over its rows must be what was loaded and what clients have changed since.
//
// RangeWorkload<S, Plan> is such a workload on a store. The Plan is a struct of types, constants and static functions:
//   Parameters          has ranges(), share, seed, hash
//   Tables<S>           of Spread
//   RequestSource       RequestSource(parameters, worker) draws a worker's requests by next(); a request has a `type`
//   kName, kTypeNames   of the workload, and of its types of requests
//   kSums, kWords       how many sums there are, and how messages name things (RangeWords<kSums>)
//   kTellsDistributed   whether the share of requests on several partitions is told, of a process alone
//   estimated_bytes(parameters)
//   create(tables, add)                         calls add(table, name [, how many of its keys belong to each key [,
//                      whether it is loaded once]]) for each
//   insert<S>(t, tables, piece, random, sums)   inserts the rows of some keys and adds what they hold; false if it
//                                               cannot
//   check<S>(t, tables, partition, key, sums)   whether a key's rows are all there and fit together; adds what they
//                                               hold
//   footprint(request, split)                   the partitions it touches; where the store is not split, any will do
//   carry_out<S>(t, tables, request, change)    the request as a transaction, and by how much it changes the sums

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/harness/given_up.h"
#include "bench/store/range_work.h"
#include "bench/store/spread.h"
#include "bench/store/store_workload.h"

namespace granary::bench::store {

/// Sums modulo 2^64, so that changes may be negative.
template <std::size_t N>
using Sums = std::array<std::uint64_t, N>;

template <std::size_t N>
void add_to(Sums<N>& all, const Sums<N>& part) {
  for (std::size_t i = 0; i < N; ++i) all[i] += part[i];
}

/// Sums to which each thread adds its part once, at its end. Relaxed, as they are read after all threads have ended.
template <std::size_t N>
class SharedSums {
 public:
  void add(const Sums<N>& part) {
    for (std::size_t i = 0; i < N; ++i) all_[i].fetch_add(part[i], std::memory_order_relaxed);
  }
  std::uint64_t operator[](std::size_t i) const { return all_[i].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, N> all_{};
};

/// The words that messages and findings use.
template <std::size_t N>
struct RangeWords {
  const char* size_flag;             ///< "--accounts": fewer need less memory
  const char* key;                   ///< "customer"
  const char* broken;                ///< "is not complete", for a key that fails its check
  const char* all_whole;             ///< the condition that no key fails its check
  std::array<const char*, N> agree;  ///< the condition on each sum
};

/// Sums up the work of all clients: by how much they changed each sum, how many requests they ran, and how many of
/// these were distributed.
template <std::size_t N>
struct ClientSums {
  SharedSums<N> changed;
  SharedSums<2> requests;
};

template <Store S, typename Plan>
class RangeClient final : public StoreClient<S> {
 public:
  RangeClient(std::unique_ptr<typename S::Session> session, const typename Plan::template Tables<S>& tables, bool split,
              const typename Plan::Parameters& parameters, std::uint32_t worker, ClientSums<Plan::kSums>& all)
      : StoreClient<S>(std::move(session)),
        tables_(tables),
        split_(split),
        source_(parameters, worker),
        own_node_(parameters.share.node),
        all_(all) {}
  ~RangeClient() override {
    all_.changed.add(changed_);
    all_.requests.add(requests_);
  }

  Request run_one() override {
    const auto request = source_.next();
    const auto type = static_cast<std::uint8_t>(request.type);
    const Footprint footprint = Plan::footprint(request, split_);
    if (account_ != nullptr) [[unlikely]]
      note_reached(footprint);
    Sums<Plan::kSums> change;
    const Ending ending = this->session_->run(footprint, this->aborts(type), [&](typename S::Transaction& t) {
      change = {};
      const Verdict verdict = Plan::template carry_out<S>(t, tables_, request, change);
      if (account_ != nullptr) [[unlikely]]
        set(account_->open, change);  // from now on it may be committed
      return verdict;
    });
    if (ending == Ending::kCommitted) add_to(changed_, change);
    if (account_ != nullptr) [[unlikely]] {
      set(account_->changed, changed_);
      set(account_->open, {});
    }
    add_to(requests_, {1, footprint.size() > 1 ? 1u : 0u});
    return {type, ending};
  }

 private:
  using Client::account_;
  using Client::reached_;

  /// Notes which nodes the request needs. Where there are nodes, each has the partition of its number.
  void note_reached(const Footprint& footprint) {
    reached_ = 0;
    for (const std::uint32_t partition : footprint) {
      if (partition != own_node_) reached_ |= std::uint64_t{1} << partition;
    }
  }
  /// Stores the sums with release: a killed process has then stored all that comes before, so that no change is both
  /// unknown and forgotten.
  static void set(WorkerAccount::Sums& kept, const Sums<Plan::kSums>& sums) {
    for (std::size_t i = 0; i < Plan::kSums; ++i) kept[i].store(sums[i], std::memory_order_release);
  }

  const typename Plan::template Tables<S>& tables_;
  const bool split_;
  typename Plan::RequestSource source_;
  const std::uint32_t own_node_;
  ClientSums<Plan::kSums>& all_;
  Sums<Plan::kSums> changed_{};
  Sums<2> requests_{};
};

template <Store S, typename Plan>
class RangeWorkload final : public StoreWorkload<S> {
 public:
  using typename StoreWorkload<S>::OpenStore;
  using Parameters = typename Plan::Parameters;
  using Tables = typename Plan::template Tables<S>;

  RangeWorkload(const Parameters& parameters, OpenStore open)
      : StoreWorkload<S>(std::move(open), parameters.share, parameters.seed),
        parameters_(parameters),
        ranges_(parameters.ranges()),
        work_(ranges_, parameters.share) {}

  std::string name() const override { return Plan::kName; }
  std::vector<std::string> transaction_types() const override {
    return {Plan::kTypeNames.begin(), Plan::kTypeNames.end()};
  }
  double scale_factor() const override { return static_cast<double>(ranges_.count()) / 1e6; }
  std::uint64_t estimated_bytes() const override { return Plan::estimated_bytes(parameters_); }
  std::uint64_t load_units() const override { return work_.keys(); }
  Status load(unsigned threads, Progress& progress) override;
  Status come_back() override;
  void keep_account(LifeAccount& account) override {
    account.sums.store(kSums, std::memory_order_relaxed);
    account_ = &account;
  }
  std::vector<Finding> verify() override;

  // The following is for tests.
  const Tables& tables() const { return tables_; }

 private:
  static constexpr std::size_t kSums = Plan::kSums;
  static_assert(kSums <= WorkerAccount::kMostSums);
  using typename StoreWorkload<S>::Session;
  using Transaction = typename S::Transaction;

  /// Adds one table of the store or, where the store splits tables, one for each partition.
  template <template <typename, typename> class Table, typename K, typename Row>
  Status add_table(Spread<Table<K, Row>>& table, const char* name, std::uint64_t keys_each, bool loaded_once);
  Status create();
  Status load_piece(Session& session, const Piece& piece, Progress& progress);
  Ending check_key(Session& session, std::uint32_t partition, std::uint64_t key, Sums<kSums>& sums);
  Status check_piece(Session& session, const Piece& piece, SharedSums<kSums>& found);

  std::unique_ptr<Client> client_on(std::unique_ptr<Session> session, std::uint32_t worker) override {
    return std::make_unique<RangeClient<S, Plan>>(std::move(session), tables_, this->store().splits_tables(),
                                                  parameters_, worker, clients_);
  }
  std::vector<ExtraFigure> own_figures() const override {
    if (!Plan::kTellsDistributed || ranges_.parts() == 1 || !parameters_.share.alone()) return {};
    const auto requests = static_cast<double>(clients_.requests[0]);
    return {{"distributed_share", requests == 0 ? 0 : static_cast<double>(clients_.requests[1]) / requests}};
  }

  const Parameters parameters_;
  const KeyRanges ranges_;
  const RangeWork work_;
  Tables tables_;
  std::vector<std::function<Status()>> to_seal_;  ///< called once all is loaded
  LifeAccount* account_ = nullptr;                ///< nullptr if no account is kept
  SharedSums<kSums> loaded_;
  ClientSums<kSums> clients_;
};

template <Store S, typename Plan>
template <template <typename, typename> class Table, typename K, typename Row>
Status RangeWorkload<S, Plan>::add_table(Spread<Table<K, Row>>& table, const char* name, std::uint64_t keys_each,
                                         bool loaded_once) {
  const std::uint32_t parts = this->store().splits_tables() ? ranges_.parts() : 1;
  const TableLayout layout{
      .hash = parameters_.hash,
      .rows = work_.keys() / parts * keys_each + 1,
      .overwritten = !loaded_once,
      .loaded_once = loaded_once,
      .home = [ranges = ranges_, keys_each](std::uint64_t key) { return ranges.part_of(key / keys_each); }};
  for (std::uint32_t part = 0; part < parts; ++part) {
    auto made = this->store().template create_table<K, Row>(name, part, layout);
    if (!made.ok()) return made.status();
    table.add(*made);
    if (loaded_once) to_seal_.push_back([this, sealed = *made] { return this->seal(sealed); });
  }
  return {};
}

template <Store S, typename Plan>
Status RangeWorkload<S, Plan>::create() {
  if (Status opened = this->open_store(); !opened.ok()) return opened;
  Status created;
  to_seal_.clear();
  Plan::create(tables_, [&](auto& table, const char* name, std::uint64_t keys_each = 1, bool loaded_once = false) {
    if (created.ok()) created = add_table(table, name, keys_each, loaded_once);
  });
  return created;
}

template <Store S, typename Plan>
Status RangeWorkload<S, Plan>::load(unsigned threads, Progress& progress) {
  if (Status created = create(); !created.ok()) return created;
  Status loaded = work_.run(this->store(), threads,
                            [&](Session& session, const Piece& piece) { return load_piece(session, piece, progress); });
  for (const auto& seal : to_seal_) {
    if (loaded.ok()) loaded = seal();
  }
  for (std::size_t i = 0; account_ != nullptr && i < kSums; ++i)
    account_->loaded[i].store(loaded_[i], std::memory_order_relaxed);
  return loaded;
}

template <Store S, typename Plan>
Status RangeWorkload<S, Plan>::come_back() {
  if (Status created = create(); !created.ok()) return created;
  return this->return_to_others();
}

template <Store S, typename Plan>
Status RangeWorkload<S, Plan>::load_piece(Session& session, const Piece& piece, Progress& progress) {
  constexpr std::uint64_t kBatch = 100;
  base::Random random(parameters_.seed, 0x6c6f616400000000 + piece.keys.from);
  AbortCounts aborts{};
  for (std::uint64_t from = piece.keys.from; from < piece.keys.to; from += kBatch) {
    const Piece batch{piece.partition, {from, std::min(from + kBatch, piece.keys.to)}};
    Sums<kSums> sums;
    const Ending ending = session.run({piece.partition}, aborts, [&](Transaction& t) {
      sums = {};
      return Plan::template insert<S>(t, tables_, batch, random, sums) ? Verdict::kCommit : Verdict::kRetry;
    });
    if (ending != Ending::kCommitted) return load_failure(aborts, "", Plan::kWords.size_flag);
    loaded_.add(sums);
    progress.add(batch.keys.size());
  }
  return {};
}

/// Checks a key, while no transaction writes. A node may be unable to read for a moment, as when it does not hear
/// ZooKeeper; that says nothing about its data.
template <Store S, typename Plan>
Ending RangeWorkload<S, Plan>::check_key(Session& session, std::uint32_t partition, std::uint64_t key,
                                         Sums<kSums>& sums) {
  constexpr int kTries = 200;
  constexpr std::chrono::milliseconds kPause(50);
  AbortCounts aborts{};
  for (int attempt = 1;; ++attempt) {
    const Ending ending = session.run({partition}, aborts, [&](Transaction& t) {
      sums = {};
      return Plan::template check<S>(t, tables_, partition, key, sums) ? Verdict::kCommit : Verdict::kRollBack;
    });
    if (!is_given_up(ending) || attempt == kTries) return ending;
    std::this_thread::sleep_for(kPause);
  }
}

template <Store S, typename Plan>
Status RangeWorkload<S, Plan>::check_piece(Session& session, const Piece& piece, SharedSums<kSums>& found) {
  Sums<kSums> here{};
  for (std::uint64_t key = piece.keys.from; key < piece.keys.to; ++key) {
    Sums<kSums> sums;
    const Ending ending = check_key(session, piece.partition, key, sums);
    if (is_given_up(ending))
      return Status(StatusCode::kUnavailable, fmt::format("{} {} cannot be read", Plan::kWords.key, key));
    if (ending != Ending::kCommitted)
      return Status(StatusCode::kDamaged, fmt::format("{} {} {}", Plan::kWords.key, key, Plan::kWords.broken));
    add_to(here, sums);
  }
  found.add(here);
  return {};
}

template <Store S, typename Plan>
std::vector<Finding> RangeWorkload<S, Plan>::verify() {
  SharedSums<kSums> found;
  const Status read = work_.run(this->store(), this->checkers(), [&](Session& session, const Piece& piece) {
    return check_piece(session, piece, found);
  });
  std::vector<Finding> findings{{Plan::kWords.all_whole, read.ok(),
                                 read.ok() ? fmt::format("{} {}s", work_.keys(), Plan::kWords.key) : read.message()}};
  for (std::size_t i = 0; i < kSums; ++i) {
    const Tally tally{loaded_[i] + clients_.changed[i], found[i]};
    findings.push_back(sums_agree(Plan::kWords.agree[i], tally, parameters_.share));
  }
  return findings;
}

}  // namespace granary::bench::store
