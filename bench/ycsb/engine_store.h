#pragma once
// The YCSB operations as Granary transactions, one operation a transaction or several.

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/harness/fresh_database.h"
#include "bench/harness/command.h"
#include "bench/harness/database_figures.h"
#include "bench/harness/workload.h"
#include "bench/store/worker_session.h"
#include "bench/ycsb/parameters.h"
#include "bench/ycsb/requests.h"
#include "src/db/options_check.h"

namespace granary::bench::ycsb {

/// Bounds dynamic timestamp allocation (DTA) from above, by the model in TicToc's appendix (Yu et al., SIGMOD 2016,
/// Figure 12). Such protocols certify one transaction at a time, under one lock. The model keeps the lock and leaves
/// out the work under it, so that no such protocol on this engine can be faster. All sessions share one section, and
/// each attempt passes through it before TicToc's commit. The protocol itself is in bench/dta.
class CriticalSection {
 public:
  void pass() { const std::lock_guard inside(mutex_); }

 private:
  std::mutex mutex_;
};

/// One session's operations. Each counts its failed attempts in `aborts`. `Held` is the worker that the thread
/// registered, of a database or of a node of a cluster. If `declares`, each operation on a key declares it first
/// (lease_2pl, drtm).
template <typename Held>
class KeySession {
 public:
  /// Commits pass through `dta_bound`, if there is one.
  KeySession(Held held, Table table, base::Random random, bool declares = false,
             const TransactionOptions& transactions = {}, Breakdown* breakdown = nullptr,
             CriticalSection* dta_bound = nullptr)
      : held_(std::move(held)),
        table_(table),
        random_(random),
        declares_(declares),
        transactions_(transactions),
        breakdown_(breakdown),
        dta_bound_(dta_bound) {}

  /// Times requests from now on, like store::WorkerSession::begin_measurement().
  void begin_measurement() {
    if (breakdown_ != nullptr) times_.emplace(*breakdown_, store::worker_of(held_));
  }

  Ending read(std::string_view key, std::span<char> buffer, AbortCounts& aborts) {
    return run(aborts, [&](Transaction& t) {
      if (declare(t, key, false) && t.get(table_, key, buffer).outcome == Outcome::kNotFound) ++missing_;
    });
  }
  /// Returns how many reads of committed transactions have found no record.
  std::uint64_t missed() const { return missed_; }
  Ending update(std::string_view key, std::string_view value, AbortCounts& aborts) {
    return run(aborts, [&](Transaction& t) {
      if (declare(t, key, true)) static_cast<void>(t.update(table_, key, value));
    });
  }
  Ending put(std::string_view key, std::string_view value, AbortCounts& aborts) {
    return run(aborts, [&](Transaction& t) {
      if (declare(t, key, true)) static_cast<void>(t.put(table_, key, value));
    });
  }
  Ending insert(std::string_view key, std::string_view value, AbortCounts& aborts) {
    return run(aborts, [&](Transaction& t) { static_cast<void>(t.insert(table_, key, value)); });
  }
  /// `change(buffer)` alters the value that was read and returns the one to write.
  template <typename Change>
  Ending modify(std::string_view key, std::span<char> buffer, Change&& change, AbortCounts& aborts) {
    return run(aborts, [&](Transaction& t) {
      if (declare(t, key, true) && get(t, key, buffer, /*to_write=*/true))
        static_cast<void>(t.update(table_, key, change(buffer)));
    });
  }
  /// Runs the steps as one transaction. What a step reads goes to the buffer, and `change(step)` returns what it
  /// writes.
  template <typename Change>
  Ending run_all(std::span<const Step> steps, std::uint32_t fields, std::span<char> buffer, Change&& change,
                 AbortCounts& aborts) {
    return run(aborts, [&](Transaction& t) {
      if (!declare_all(t, steps)) return;
      for (const Step& step : steps) {
        if (step.reads(fields) && !may_go_on(step, get(t, step.key.view(), buffer, step.writes()).outcome)) return;
        if (step.operation == Operation::kScan && !scan(t, step)) return;
        if (step.writes() && write(t, step, change(step)) != Outcome::kOk) return;
      }
    });
  }
  /// Runs the steps as one transaction that first reads all that they need, together, and then writes. Before a step
  /// writes, the portion that was read for it, if any, is copied to the beginning of the buffer, and `change(step)`
  /// returns what replaces it. The records that steps put come last, together.
  template <typename Change>
  Ending run_fetched(std::span<const Step> steps, const Portion& portion, std::span<char> buffer, Change&& change,
                     AbortCounts& aborts) {
    return run(aborts, [&](Transaction& t) {
      if (!declare_all(t, steps) || !get_all(t, steps, portion)) return;
      puts_.clear();
      put_values_.resize(steps.size());
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const Step& step = steps[i];
        const bool reads = step.reads(portion.fields);
        if (step.operation == Operation::kScan && !scan(t, step)) return;
        if (!step.writes()) continue;
        if (reads) std::memcpy(buffer.data(), fetched_.data() + i * portion.bytes, portion.bytes);
        const std::string_view changed = change(step);
        if (step.operation == Operation::kPut) {
          put_later(step, changed);
          continue;
        }
        const Outcome written = portion.part && reads
                                    ? t.update_part(table_, step.key.view(), portion.from(step), changed)
                                    : write(t, step, changed);
        if (written != Outcome::kOk) return;
      }
      static_cast<void>(t.multi_put(puts_));
    });
  }
  /// Reads the record; `found` says whether it is there.
  Ending find(std::string_view key, std::span<char> buffer, bool& found, AbortCounts& aborts) {
    return run(aborts, [&](Transaction& t) { found = t.get(table_, key, buffer).outcome == Outcome::kOk; });
  }
  /// Visits at most `limit` records from `from` on, in one transaction. Each of its attempts calls `restart()` first,
  /// and then visits them anew.
  template <typename Restart, typename Visit>
  Ending scan(std::string_view from, std::size_t limit, std::span<char>, Restart&& restart, Visit&& visit,
              AbortCounts& aborts) {
    return run(aborts, [&](Transaction& t) {
      restart();
      static_cast<void>(t.scan(table_, {.from = from, .limit = limit}, visit));
    });
  }
  void collect() { store::worker_of(held_).collect_garbage(); }

  /// Returns another session of the same worker, for run_together().
  std::unique_ptr<KeySession> beside(std::uint64_t seed) {
    return std::make_unique<KeySession>(held_, table_, base::Random(seed), declares_, transactions_, nullptr,
                                        dta_bound_);
  }
  void run_together(std::uint32_t count, FunctionRef<void(std::uint32_t)> body) {
    store::run_together(held_, count, body);
  }

 private:
  /// Whether reads say that the record will be written. In a cluster they do not: the hint would lock another node's
  /// record with the read, and these workloads measure locks that come with the commit, or with declared keys.
  static constexpr bool kSaysWrites = std::is_same_v<Held, store::HeldWorker>;

  GetResult get(Transaction& t, std::string_view key, std::span<char> buffer, bool to_write) {
    return kSaysWrites && to_write ? t.get_to_write(table_, key, buffer) : t.get(table_, key, buffer);
  }
  bool declare(Transaction& t, std::string_view key, bool write) {
    if (!declares_) return true;
    const Declared declared{table_, key, write};
    return t.declare({&declared, 1}) == Outcome::kOk;
  }
  bool declare_all(Transaction& t, std::span<const Step> steps) {
    if (!declares_) return true;
    declared_.clear();
    for (const Step& step : steps) {
      if (step.meets_record()) declared_.push_back({table_, step.key.view(), step.writes()});
    }
    return t.declare(declared_) == Outcome::kOk;
  }
  /// Fetches what all steps read in one go, so that their cache misses overlap.
  bool get_all(Transaction& t, std::span<const Step> steps, const Portion& portion) {
    fetched_.resize(steps.size() * portion.bytes);
    gets_.clear();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!steps[i].reads(portion.fields)) continue;
      gets_.push_back({.table = table_,
                       .key = steps[i].key.view(),
                       .buffer = {fetched_.data() + i * portion.bytes, portion.bytes},
                       .result = {},
                       .will_write = kSaysWrites && steps[i].writes(),
                       .part_from = portion.part ? portion.from(steps[i]) : MultiGet::kWhole});
    }
    if (t.multi_get(gets_) != Outcome::kOk) return false;
    auto get = gets_.begin();
    return std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
      return !step.reads(portion.fields) || may_go_on(step, (get++)->result.outcome);
    });
  }
  /// Keeps what the step puts for the multi_put at the transaction's end.
  void put_later(const Step& step, std::string_view value) {
    std::string& kept = put_values_[puts_.size()];
    kept.assign(value);
    puts_.push_back({.table = table_, .key = step.key.view(), .value = kept});
  }
  /// Whether a transaction goes on whose step has read with this outcome. A read that finds no record is counted; the
  /// keys of other steps are there.
  bool may_go_on(const Step& step, Outcome read) {
    if (step.operation != Operation::kRead || read != Outcome::kNotFound) return read == Outcome::kOk;
    ++missing_;
    return true;
  }
  bool scan(Transaction& t, const Step& step) {
    const auto visit = [](std::string_view, std::string_view) { return true; };
    return static_cast<bool>(t.scan(table_, {.from = step.key.view(), .limit = step.length}, visit));
  }
  Outcome write(Transaction& t, const Step& step, std::string_view value) {
    switch (step.operation) {
      case Operation::kInsert: return t.insert(table_, step.key.view(), value);
      case Operation::kPut: return t.put(table_, step.key.view(), value);
      default: return t.update(table_, step.key.view(), value);
    }
  }
  template <typename Body>
  Ending run(AbortCounts& aborts, Body&& body) {
    const auto attempt = [&](Transaction& t) {
      missing_ = 0;
      body(t);
      if (dta_bound_ != nullptr) [[unlikely]]
        dta_bound_->pass();
    };
    const Ending ending =
        run_to_end(store::worker_of(held_), random_, aborts, attempt, transactions_, times_ ? &*times_ : nullptr);
    if (ending == Ending::kCommitted) missed_ += missing_;
    return ending;
  }

  Held held_;
  Table table_;
  base::Random random_;
  const bool declares_;
  const TransactionOptions transactions_;
  Breakdown* const breakdown_;
  CriticalSection* const dta_bound_;
  std::vector<Declared> declared_;
  std::vector<MultiGet> gets_;  // the reads of one transaction that reads in one go
  std::vector<char> fetched_;   // what these have read: a portion for each step
  std::vector<MultiPut> puts_;  // the puts of such a transaction, which come last
  std::vector<std::string> put_values_;
  std::uint64_t missing_ = 0;          // reads of the present attempt that have found no record
  std::uint64_t missed_ = 0;           // those of committed transactions
  std::optional<RequestTimes> times_;  // after the members that it uses
};

class EngineStore {
 public:
  using Session = KeySession<store::HeldWorker>;

  static Result<std::unique_ptr<EngineStore>> open(const Settings& settings, const Parameters& parameters) {
    Result<std::unique_ptr<Database>> database = open_fresh(settings.options);
    if (!database.ok()) return database.status();
    Result<Table> table =
        (*database)->create_table("usertable", {.max_value_bytes = parameters.value_bytes,
                                                .index = parameters.hash ? IndexKind::kHash : IndexKind::kOrdered,
                                                .expected_keys = parameters.keys});
    if (!table.ok()) return table.status();
    auto store = std::make_unique<EngineStore>(std::move(*database), *table, parameters.isolation, settings.breakdown);
    if (settings.variants.has(Variant::kDtaBound)) store->dta_bound_ = std::make_unique<CriticalSection>();
    return store;
  }

  EngineStore(std::unique_ptr<Database> database, Table table, Isolation isolation, bool breakdown)
      : database_(std::move(database)),
        table_(table),
        isolation_(isolation),
        breakdown_(breakdown ? std::make_unique<Breakdown>() : nullptr) {}

  Result<std::unique_ptr<Session>> session(std::uint64_t seed) {
    Result<Worker> worker = database_->register_worker();
    if (!worker.ok()) return worker.status();
    return std::make_unique<Session>(std::make_shared<Worker>(std::move(*worker)), table_, base::Random(seed),
                                     /*declares=*/db::runs_in_regions(database_->options()),
                                     TransactionOptions{.isolation = isolation_}, breakdown_.get(), dta_bound_.get());
  }
  std::vector<ExtraFigure> extra_figures() {
    return breakdown_ == nullptr ? std::vector<ExtraFigure>() : breakdown_->take_figures();
  }
  StoreFigures figures() const { return figures_of(*database_); }
  const Database* logged_database() const { return database_->options().directory.empty() ? nullptr : database_.get(); }

 private:
  std::unique_ptr<Database> database_;
  Table table_;
  const Isolation isolation_;
  const std::unique_ptr<Breakdown> breakdown_;
  std::unique_ptr<CriticalSection> dta_bound_;  // nullptr without Variant::kDtaBound
};

}  // namespace granary::bench::ycsb
