#pragma once
// The Store back-end that is the engine: transactions and snapshots of one Database. With `split`, each partition has
// tables of its own (MemSilo+Split of Silo 5.4); else the footprint of a transaction means nothing here.

#include <memory>
#include <string>
#include <utility>

#include <granary/granary.h>

#include "bench/harness/fresh_database.h"
#include "bench/harness/database_figures.h"
#include "bench/store/worker_session.h"
#include "src/db/options_check.h"

namespace granary::bench::store {

class GranaryStore {
 public:
  template <typename K, typename V>
  using Table = TypedTable<K, V>;
  using Transaction = GranaryTransaction;
  using SnapshotReader = GranaryReader<granary::Snapshot>;

  using Session = WorkerSession<HeldWorker>;

  static Result<std::unique_ptr<GranaryStore>> open(const Options& options, bool split, bool breakdown = false) {
    Result<std::unique_ptr<Database>> database = bench::open_fresh(options);
    if (!database.ok()) return database.status();
    return std::make_unique<GranaryStore>(std::move(*database), split, breakdown);
  }

  GranaryStore(std::unique_ptr<Database> database, bool split, bool breakdown)
      : database_(std::move(database)),
        split_(split),
        breakdown_(breakdown ? std::make_unique<Breakdown>() : nullptr) {}

  template <typename K, typename V>
  Result<TypedTable<K, V>> create_table(const std::string& name, std::uint32_t partition,
                                        const TableLayout& layout = {}) {
    TableOptions options;
    if (layout.hash) options = {.index = IndexKind::kHash, .expected_keys = layout.rows};
    options.immutable = layout.loaded_once;
    return database_->create_table<K, V>(split_ ? name + "." + std::to_string(partition) : name, options);
  }
  bool splits_tables() const { return split_; }
  Status seal(const granary::Table& table) { return database_->seal(table); }

  Result<std::unique_ptr<Session>> session(std::uint64_t seed) {
    Result<Worker> worker = database_->register_worker();
    if (!worker.ok()) return worker.status();
    return std::make_unique<Session>(std::make_shared<Worker>(std::move(*worker)), base::Random(seed, Session::kStream),
                                     /*declares=*/db::runs_in_regions(database_->options()), breakdown_.get());
  }
  std::vector<ExtraFigure> extra_figures() {
    return breakdown_ == nullptr ? std::vector<ExtraFigure>() : breakdown_->take_figures();
  }
  StoreFigures figures() const { return figures_of(*database_); }
  const Database* logged_database() const { return database_->options().directory.empty() ? nullptr : database_.get(); }
  Database& database() { return *database_; }

 private:
  std::unique_ptr<Database> database_;
  const bool split_;
  const std::unique_ptr<Breakdown> breakdown_;
};

static_assert(Store<GranaryStore>);

}  // namespace granary::bench::store
