#pragma once
// What stands behind a Database: memory, epochs, tables and workers put together, and the threads that keep them going.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <granary/database.h>
#include <granary/function_ref.h>
#include <granary/options.h>
#include <granary/status.h>

#include "htm/support.h"
#include "src/base/periodic_thread.h"
#include "src/base/process_mark.h"
#include "src/base/waiter.h"
#include "src/cc/worker_state.h"
#include "src/db/memory_relief.h"
#include "src/db/released.h"
#include "src/db/ring_watch.h"
#include "src/db/schema.h"
#include "src/db/stall_watch.h"
#include "src/db/storage.h"
#include "src/db/workers.h"
#include "src/epoch/epoch.h"
#include "src/memory/region.h"
#include "src/memory/slab.h"

namespace granary::db {

class Engine {
 public:
  /// `part`: of a node of a cluster.
  static Result<std::unique_ptr<Engine>> open(const Options& options, base::FileSystem& files,
                                              const ClusterPart& part = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Whether this process is a fork of the one that opened the database. Then nothing may be called but this, what
  /// returns a reference or a copy of a word, and the next; not even the destructor.
  bool inherited() const { return !process_.is_of_this_process(); }
  /// kFailedPrecondition if this process is a fork of that one.
  Status check_own() const;
  /// kFailedPrecondition if the application may change nothing any more: the same, or the database is closed.
  Status check_usable() const;

  const Options& options() const { return options_; }
  epoch::EpochManager& epochs() { return epochs_; }
  // In a cluster, before there are workers; what is set outlives the engine.
  void set_fence(const membership::Fence& fence) { shared_.fence = &fence; }
  void set_living(const membership::Living& living) { shared_.living = &living; }
  /// Tells what keeps D where it is, for messages of waits for it. Any thread calls it, until the engine is closed.
  void set_obstacle(Obstacle obstacle) { obstacle_ = std::move(obstacle); }
  /// By which leases end.
  void set_time(const base::SoftTime& time) { shared_.time = &time; }
  /// Before there are workers, of a node of a cluster: where its workers and those of other nodes say when they have
  /// missed keys.
  void set_misses(std::span<cc::SharedMissTimes::Line> lines) { shared_.misses = cc::SharedMissTimes(lines); }
  /// All memory of records and indexes; the fabric registers it.
  memory::Region& region() { return *region_; }

  Schema& schema() { return schema_; }
  Workers& workers() { return workers_; }

  /// Thread-safe, and so are the following. Waits for a checkpoint that is in progress.
  Status resize(txn::TableCore* table, std::uint64_t expected_keys);
  Status seal(txn::TableCore* table, std::uint64_t timeout_us);
  Statistics statistics() const;

  // Durability; without a directory everything committed counts as released.
  std::uint64_t released_epoch() const;
  Status wait_released(std::uint64_t epoch, std::uint64_t timeout_us) const;
  Status wait_durable(epoch::Epoch epoch, std::uint64_t timeout_us) const;
  Status log_status() const;
  /// The same for those who only look: nobody counts as told of a failure by it.
  Status seen_log_status() const;
  /// Whether nothing becomes durable any more in this life.
  bool log_has_failed() const { return shared_.log != nullptr && shared_.log->durable().failed(); }
  /// Waits at most so long for another checkpoint, and then until this one's epoch is durable.
  Status checkpoint(std::uint64_t timeout_us = Database::kReleaseTimeout_us, LogRoom room = LogRoom::kLeft);
  const RecoveryReport& recovery_report() const;
  /// Takes what another node's log has of this node's records, while nobody uses the tables
  /// (ClusterPart::others_elsewhere). With up to so many threads, as which `files` can be used by; by the calling
  /// thread alone if that is one. kUnavailable if the log has not come up to OtherLog::up_to yet; then, and after any
  /// error but a shortage of memory, the call may be made again.
  Status take_from(base::FileSystem& files, const OtherLog& other, unsigned threads = 1);
  /// Returns what was loaded so far: from the own log, then from each other one. Not while something is loaded.
  const std::vector<LoadedLog>& loaded_logs() const;
  /// All has been taken: there may be checkpoints.
  Status have_all();
  /// Notes durably that a node which has come back while others serve was let in, and may have transactions from the
  /// present epoch on (Storage::note_admitted). To be called before the first of them; does nothing for other nodes.
  Status note_admitted() { return storage_ == nullptr ? Status() : storage_->note_admitted(epochs_.current()); }
  /// Ends the background work and makes everything durable. The second call does nothing.
  Status close();
  /// After close(): whether locks at other nodes could not be given back, which is for the node's recovery to do.
  bool owes() const { return shared_.log != nullptr && shared_.log->owes(); }

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
  /// Does what close() says. Results become durable meanwhile, so whoever waits for them goes on waiting.
  Status end();
  Status may_checkpoint() const;
  /// Calls `load` with the states of so many workers, which are idle and load with a thread each.
  Status load_with(std::uint32_t threads, FunctionRef<Status(std::span<cc::WorkerState* const>)> load);
  void start();
  void start_touching(base::PeriodicThread::Clock::time_point first);
  void start_checkpoints();
  /// The log's durable epoch, for the cluster's.
  epoch::Epoch durable() const;

  const base::ProcessMark process_;
  const Options options_;
  Obstacle obstacle_;                       ///< none: nothing is known
  const std::unique_ptr<Storage> storage_;  // null: in memory only
  const std::unique_ptr<htm::Support> htm_;
  const std::unique_ptr<memory::Region> region_;
  memory::SlabPool slabs_;
  epoch::EpochManager epochs_;
  base::ThreadWaiter waiter_;
  const std::unique_ptr<cc::tictoc::VersionEnds> version_ends_;  // none, unless Options::tictoc_history
  cc::DatabaseState shared_;
  Schema schema_;
  Workers workers_;
  MemoryRelief relief_{shared_, workers_};
  StallWatch stall_watch_{options_.notices, options_.epoch_ms, epochs_, workers_};
  RingWatch ring_watch_{options_.notices, options_.epoch_ms};

  /// log_status() told why, from any thread; the destructor then does not.
  mutable std::atomic<bool> failure_told_{false};
  /// Set by close() when it has ended (release), and read by who waits for results (acquire), which then sees how far
  /// the log has come.
  std::atomic<bool> has_closed_{false};
  std::atomic<bool> closed_{false};  ///< set by close(), read by all threads that call the database; relaxed: no more
  /// When epoch_thread_ last began a turn; 0 if there is no such thread. Relaxed: for statistics.
  std::atomic<std::uint64_t> turned_us_{0};
  std::optional<base::PeriodicThread> epoch_thread_;
  std::optional<base::PeriodicThread> touch_thread_;
  std::optional<base::PeriodicThread> checkpoint_thread_;
};

}  // namespace granary::db
