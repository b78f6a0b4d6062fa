#pragma once
// What stands behind a Database: memory, epochs, tables, workers, and the thread that advances epochs.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <granary/database.h>
#include <granary/options.h>
#include <granary/status.h>

#include "htm/support.h"
#include "src/base/waiter.h"
#include "src/cc/worker_state.h"
#include "src/db/released.h"
#include "src/db/storage.h"
#include "src/epoch/epoch.h"
#include "src/memory/region.h"
#include "src/memory/slab.h"
#include "src/txn/table_core.h"
#include "src/txn/worker_core.h"

namespace granary::db {

class Engine {
 public:
  /// `part`: of a node of a cluster.
  static Result<std::unique_ptr<Engine>> open(const Options& options, base::FileSystem& files,
                                              const ClusterPart& part = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Options& options() const { return options_; }
  epoch::EpochManager& epochs() { return epochs_; }
  // In a cluster, before there are workers; what is set outlives the engine.
  void set_fence(const membership::Fence& fence) { shared_.fence = &fence; }
  void set_living(const membership::Living& living) { shared_.living = &living; }
  /// Tells what keeps D where it is, for messages of waits for it. Any thread calls it, until the engine is closed.
  void set_obstacle(Obstacle obstacle) { obstacle_ = std::move(obstacle); }
  /// By which leases end.
  void set_time(const base::SoftTime& time) { shared_.time = &time; }
  memory::SlabPool& slabs() { return slabs_; }
  /// All memory of records and indexes; the fabric registers it.
  memory::Region& region() { return *region_; }

  /// Thread-safe, and so are the following.
  Result<txn::TableCore*> create_table(std::string_view name, const TableOptions& table_options);
  Result<txn::TableCore*> create_index(txn::TableCore* base, std::string_view name, const IndexOptions& index_options);
  Status resize(txn::TableCore* table, std::uint64_t expected_keys);
  Result<txn::TableCore*> find_table(std::string_view name, bool index) const;
  /// All, secondary indexes too, by id.
  std::vector<txn::TableCore*> tables() const;

  Result<txn::WorkerCore*> take_worker();
  void give_worker(txn::WorkerCore* worker);
  /// kFailedPrecondition, with their ids, if any worker has been taken and not been given back.
  Status check_no_workers() const;

  Statistics statistics() const;

  // Durability; without a directory everything committed counts as released.
  std::uint64_t released_epoch() const;
  Status wait_released(std::uint64_t epoch, std::uint64_t timeout_us) const;
  Status log_status() const;
  /// Waits at most so long for another checkpoint, and then until this one's epoch is durable.
  Status checkpoint(std::uint64_t timeout_us = Database::kReleaseTimeout_us);
  const RecoveryReport& recovery_report() const;
  /// Of a node some of whose records are in logs on other hosts (ClusterPart::others_elsewhere): takes what another node's log has, by
  /// the calling thread alone, while nobody uses the tables; `directory` is that node's, in `files`.
  Status take_from(base::FileSystem& files, const std::string& directory);
  /// All has been taken: there may be checkpoints.
  Status have_all();
  /// Ends the background work and makes everything durable. The second call does nothing.
  Status close();

  /// One epoch period's work.
  bool step();
  /// In a cluster, a few times in each epoch period: tells the leader how far this node is.
  void publish() { epochs_.publish(durable()); }

 private:
  Engine(const Options& options, std::unique_ptr<memory::Region> region, std::uint64_t limit_bytes,
         std::unique_ptr<Storage> storage, std::unique_ptr<htm::Support> htm, epoch::ControlBlock* control);
  /// How stored data are loaded: fast by several threads, or by one that uses no more memory than it must.
  enum class Loading : std::uint8_t { kFast, kFrugal };
  static Result<std::unique_ptr<Engine>> open(const Options& options, base::FileSystem& files, const ClusterPart& part,
                                              Loading loading, bool& try_frugally);
  /// Makes the tables that the storage knows, fills them, begins to log.
  Status recover(Loading loading);
  Status fill(Loading loading);
  Status connect_ring(txn::WorkerCore& worker);
  void start();
  void stop();
  void checkpoint_now_and_then();
  void run_background();
  /// The log's durable epoch, for the cluster's.
  epoch::Epoch durable() const;
  void report_stall();
  /// "worker 3", for messages.
  std::string owner_of_slot(std::size_t slot) const;
  void collect_for_idle();
  void relieve_memory();
  Result<txn::TableCore*> add_table(const recovery::TableEntry& entry);
  Status check_new(const recovery::TableEntry& entry) const;
  /// For a hash index of so many keys; empty if there is no memory.
  std::span<kvstore::hash::Bucket> make_main_header(std::uint64_t keys);
  /// Gives its memory back; nobody looks at it any more.
  void free_main_header(std::span<kvstore::hash::Bucket> main_header);
  bool rebuild(txn::TableCore& table, std::uint64_t keys);
  void widen_recovered_tables();
  Result<txn::TableCore*> declare(const recovery::TableEntry& entry);
  std::vector<txn::TableCore*> all_tables() const;  ///< as tables(), by who has the mutex or is alone

  const Options options_;
  Obstacle obstacle_;                       ///< none: nothing is known
  const std::unique_ptr<Storage> storage_;  // null: in memory only
  const std::unique_ptr<htm::Support> htm_;
  const std::unique_ptr<memory::Region> region_;
  memory::SlabPool slabs_;
  epoch::EpochManager epochs_;
  base::ThreadWaiter waiter_;
  cc::Shared shared_;

  mutable std::mutex schema_mutex_;  // guards the tables and the memory of their roots
  std::unique_ptr<memory::SlabCache> schema_slabs_;
  std::unique_ptr<kvstore::NodeMemory> schema_nodes_;
  std::atomic<std::uint64_t> main_header_bytes_{
      0};  // of all that there are; changed under the mutex, read for statistics: relaxed
  std::vector<std::unique_ptr<txn::TableCore>> tables_;
  std::map<std::string, txn::TableCore*, std::less<>> tables_by_name_;
  std::set<std::string, std::less<>> undeclared_;  // recovered, and not yet asked for by create_table or create_index

  epoch::Slot* const relief_slot_;  // of relieve_memory()

  mutable std::mutex workers_mutex_;  // guards the lists, not the workers
  std::vector<std::unique_ptr<txn::WorkerCore>> workers_;
  std::vector<txn::WorkerCore*> idle_workers_;

  std::uint64_t reported_stall_ = 0;  // background thread (or the caller of step) only
  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool stopping_ = false;
  mutable std::atomic<bool> failure_told_{
      false};  // log_status() told why, from any thread; the destructor then does not
  bool closed_ = false;
  std::thread background_;
  std::thread checkpoints_;
};

}  // namespace granary::db
