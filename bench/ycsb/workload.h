#pragma once
// Runs YCSB on any store: loads it, makes clients, and checks the records at the end.

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "bench/harness/command.h"
#include "bench/harness/given_up.h"
#include "bench/harness/jobs.h"
#include "bench/harness/machine.h"
#include "bench/ycsb/chunk.h"
#include "bench/ycsb/client.h"

namespace granary::bench::ycsb {

template <typename Store>
class YcsbWorkload final : public store::StoreWorkload<Store> {
  using Base = store::StoreWorkload<Store>;

 public:
  YcsbWorkload(std::string name, const Settings& settings, const Parameters& parameters)
      : Base([=] { return Store::open(settings, parameters); }, parameters.share, parameters.seed),
        name_(std::move(name)),
        parameters_(parameters),
        types_(parameters),
        zipf_(parameters.keys, parameters.theta),
        keys_(parameters.keys) {}

  std::string name() const override { return name_; }
  std::vector<std::string> transaction_types() const override { return types_.names; }
  double scale_factor() const override { return static_cast<double>(parameters_.ranges().count()) / 1e6; }
  std::uint64_t estimated_bytes() const override { return ycsb::estimated_bytes(parameters_); }
  std::uint64_t load_units() const override { return parameters_.keys; }
  bool reload_each_repeat() const override { return parameters_.shares.has(Operation::kInsert); }
  Status load(unsigned threads, Progress& progress) override;
  std::vector<Finding> verify() override;

 private:
  using typename Base::Session;

  std::vector<ExtraFigure> own_figures() const override {
    const double records = static_cast<double>(keys_.count());
    std::vector<ExtraFigure> figures{
        {"theta", parameters_.theta},
        {"ops", static_cast<double>(parameters_.ops)},
        {"fields", static_cast<double>(parameters_.fields)},
        {"parts", parameters_.parts ? 1.0 : 0.0},
        {"multi_get", parameters_.multi_get ? 1.0 : 0.0},
        {"value_bytes", static_cast<double>(parameters_.value_bytes)},
        {"bytes_per_record", static_cast<double>(this->figures().memory_bytes) / records},
        {"loaded_resident_bytes_per_record", loaded_resident_bytes_ / static_cast<double>(parameters_.keys)}};
    // A client takes a key before it inserts the record, so a read of the latest keys may find none.
    if (const std::uint64_t reads = sums_.count(Operation::kRead); parameters_.latest && reads != 0) {
      const auto missed = static_cast<double>(sums_.missed.load(std::memory_order_relaxed));
      figures.push_back({"missing_share", missed / static_cast<double>(reads)});
    }
    return figures;
  }
  std::unique_ptr<Client> client_on(std::unique_ptr<Session> session, std::uint32_t worker) override {
    return std::make_unique<YcsbClient<Store>>(std::move(session), parameters_, types_, zipf_, keys_, worker, sums_);
  }
  /// These call visit(number, value) for all records. They return how many keys or chunks could not be read.
  template <typename Visit>
  std::uint64_t visit_numbered(Session& session, Visit&& visit);
  template <typename Visit>
  std::uint64_t visit_in_order(Session& session, Visit&& visit);
  Status load_range(const std::vector<std::uint64_t>& order, std::uint64_t from, std::uint64_t to, Progress& progress);

  const std::string name_;
  const Parameters parameters_;
  const TypeMap types_;
  const Zipf zipf_;
  KeySpace keys_;
  double loaded_resident_bytes_ = 0;
  ClientSums sums_;
};

template <typename Store>
Status YcsbWorkload<Store>::load(unsigned threads, Progress& progress) {
  const std::uint64_t resident_before = resident_bytes();
  if (Status opened = this->open_store(); !opened.ok()) return opened;
  std::vector<std::uint64_t> order;
  if (parameters_.random_load_order) {
    order.resize(parameters_.keys);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::shuffle(order.begin(), order.end(), base::Random(parameters_.seed));
  }
  const auto make_worker = [&]() -> Result<std::function<Status(std::size_t)>> {
    return std::function<Status(std::size_t)>([&](std::size_t part) {
      return load_range(order, parameters_.keys * part / threads, parameters_.keys * (part + 1) / threads, progress);
    });
  };
  const Status loaded = run_jobs(threads, threads, make_worker);
  loaded_resident_bytes_ = static_cast<double>(resident_bytes()) - static_cast<double>(resident_before) -
                           static_cast<double>(order.size() * sizeof(std::uint64_t));
  return loaded;
}

/// Loads the keys that have these places in the order. Without an order, a key's place is its number.
template <typename Store>
Status YcsbWorkload<Store>::load_range(const std::vector<std::uint64_t>& order, std::uint64_t from, std::uint64_t to,
                                       Progress& progress) {
  constexpr std::uint64_t kReportEvery = 1024;
  auto session = this->store().session(from);
  if (!session.ok()) return session.status();
  const std::vector<char> value(parameters_.value_bytes);
  AbortCounts aborts{};
  for (std::uint64_t i = from; i < to; ++i) {
    const KeyBytes key(parameters_.first_key() + (order.empty() ? i : order[i]));
    if ((*session)->insert(key.view(), {value.data(), value.size()}, aborts) != Ending::kCommitted) {
      return load_failure(aborts, fmt::format(" after {} of {} keys", i - from, to - from), "--keys");
    }
    if ((i + 1 - from) % kReportEvery == 0) progress.add(kReportEvery);
  }
  progress.add((to - from) % kReportEvery);
  return {};
}

/// Reads the keys of a hash index one by one, because it cannot be scanned.
template <typename Store>
template <typename Visit>
std::uint64_t YcsbWorkload<Store>::visit_numbered(Session& session, Visit&& visit) {
  std::vector<char> buffer(parameters_.value_bytes);
  AbortCounts aborts{};
  std::uint64_t unread = 0;
  for (std::uint64_t i = 0; i < keys_.count(); ++i) {
    const std::uint64_t number = parameters_.first_key() + i;
    bool found = false;
    if (is_given_up(session.find(KeyBytes(number).view(), buffer, found, aborts)))
      ++unread;
    else if (found)
      visit(number, std::string_view(buffer.data(), buffer.size()));
  }
  return unread;
}

/// Reads each chunk in a transaction, which may run several times, and visits it when the transaction has committed.
template <typename Store>
template <typename Visit>
std::uint64_t YcsbWorkload<Store>::visit_in_order(Session& session, Visit&& visit) {
  std::vector<char> buffer(parameters_.value_bytes);
  AbortCounts aborts{};
  Chunk chunk;
  std::uint64_t next = 0;
  do {
    const Ending ending = session.scan(
        KeyBytes(next).view(), Chunk::kMostRecords, buffer, [&] { chunk.clear(); },
        [&](std::string_view key, std::string_view value) { return chunk.add(KeyBytes::number(key), value); }, aborts);
    if (is_given_up(ending)) return 1;
    chunk.visit([&](std::uint64_t number, std::string_view value) {
      next = number + 1;
      visit(number, value);
    });
  } while (chunk.is_full());
  return 0;
}

/// Checks all records: those loaded and those that committed transactions have inserted are there, in order, and no
/// others; the values are whole; and no read-modify-write is lost.
template <typename Store>
std::vector<Finding> YcsbWorkload<Store>::verify() {
  auto session = this->store().session(0);
  if (!session.ok()) return {{"a session for the check", false, session.status().message()}};
  std::uint64_t records = 0, sum = 0, torn = 0, misplaced = 0, next = 0;
  const auto look_at = [&](std::uint64_t number, std::string_view value) {
    if (number < next) ++misplaced;
    next = number + 1;
    ++records;
    const std::size_t piece = parameters_.part_bytes() == 0 ? value.size() : parameters_.part_bytes();
    for (std::size_t from = 0; from + piece <= value.size(); from += piece) {
      if (!whole(value.substr(from, piece))) ++torn;
      sum += counter_of(value.substr(from, piece));
    }
  };
  const std::uint64_t unread =
      parameters_.hash ? visit_numbered(**session, look_at) : visit_in_order(**session, look_at);
  if (unread != 0) {
    return {{"every record can be read", false,
             parameters_.hash ? fmt::format("{} of {} keys could not be read", unread, keys_.count())
                              : fmt::format("the records from key {} on could not be read", next)}};
  }
  std::vector<Finding> findings;
  const std::uint64_t expected = parameters_.keys + sums_.count(Operation::kInsert);
  if (parameters_.hash) {
    findings.push_back(
        {"every key is found", records == expected, fmt::format("{} keys found, {} expected", records, expected)});
  } else {
    findings.push_back({"every key is there once, in order", records == expected && misplaced == 0,
                        fmt::format("{} records, {} expected, {} out of order", records, expected, misplaced)});
  }
  findings.push_back({"no value is torn", torn == 0, fmt::format("{} torn", torn)});
  if (!parameters_.shares.has(Operation::kUpdate) && !parameters_.shares.has(Operation::kPut)) {
    const std::uint64_t added = sums_.count(Operation::kReadModifyWrite);
    findings.push_back(sums_agree("no read-modify-write is lost", {added, sum}, parameters_.share));
  }
  return findings;
}

}  // namespace granary::bench::ycsb
