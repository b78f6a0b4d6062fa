#pragma once
// What stands behind a Database: memory, epochs, tables, workers, and the thread that advances epochs.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <granary/database.h>
#include <granary/options.h>
#include <granary/status.h>

#include "src/base/waiter.h"
#include "src/cc/worker_state.h"
#include "src/epoch/epoch.h"
#include "src/memory/region.h"
#include "src/memory/slab.h"
#include "src/txn/table_core.h"
#include "src/txn/worker_core.h"

namespace granary::db {

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> open(const Options& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Options& options() const { return options_; }
  epoch::EpochManager& epochs() { return epochs_; }
  memory::SlabPool& slabs() { return slabs_; }
  const memory::Region& region() const { return *region_; }

  /// Thread-safe, and so are the following.
  Result<txn::TableCore*> create_table(std::string_view name, const TableOptions& table_options);
  Result<txn::TableCore*> create_index(txn::TableCore* base, std::string_view name, const IndexOptions& index_options);
  Result<txn::TableCore*> find_table(std::string_view name, bool index) const;

  Result<txn::WorkerCore*> take_worker();
  void give_worker(txn::WorkerCore* worker);

  Statistics statistics() const;

  /// One epoch period's work.
  bool step();

 private:
  Engine(const Options& options, std::unique_ptr<memory::Region> region, std::uint64_t limit_bytes);
  void run_background();
  void report_stall();
  void collect_for_idle();
  Result<txn::TableCore*> add_table(std::string_view name, std::uint32_t max_value_bytes);

  const Options options_;
  const std::unique_ptr<memory::Region> region_;
  memory::SlabPool slabs_;
  epoch::EpochManager epochs_;
  base::ThreadWaiter waiter_;
  cc::Shared shared_;

  mutable std::mutex schema_mutex_;  // guards the tables and the memory of their roots
  std::unique_ptr<memory::SlabCache> schema_slabs_;
  std::unique_ptr<kvstore::ordered::NodeMemory> schema_nodes_;
  std::vector<std::unique_ptr<txn::TableCore>> tables_;
  std::map<std::string, txn::TableCore*, std::less<>> tables_by_name_;

  mutable std::mutex workers_mutex_;  // guards the lists, not the workers
  std::vector<std::unique_ptr<txn::WorkerCore>> workers_;
  std::vector<txn::WorkerCore*> idle_workers_;

  std::uint64_t reported_stall_ = 0;  // background thread (or the caller of step) only
  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool stopping_ = false;
  std::thread background_;
};

}  // namespace granary::db
