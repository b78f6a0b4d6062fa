#pragma once
// The engine of a Database puts memory, epochs, tables and workers together, and has the threads that keep them going.

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
  /// Opens the database. `part` is for a node of a cluster.
  static Result<std::unique_ptr<Engine>> open(const Options& options, base::FileSystem& files,
                                              const ClusterPart& part = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Whether this process is a fork of the one that opened the database. In a fork only inherited(), check_own() and
  /// functions that return a reference or a word may be called; the destructor may not.
  bool inherited() const { return !process_.is_of_this_process(); }
  /// Returns kFailedPrecondition in a fork.
  Status check_own() const;
  /// Returns kFailedPrecondition if the application may not change anything: in a fork, or when the database is closed.
  Status check_usable() const;

  const Options& options() const { return options_; }
  epoch::EpochManager& epochs() { return epochs_; }
  // These are called in a cluster, before there are workers. What they set outlives the engine.
  void set_fence(const membership::Fence& fence) { shared_.fence = &fence; }
  void set_living(const membership::Living& living) { shared_.living = &living; }
  /// Sets the function that tells what keeps D where it is, for messages of waits for D. Any thread calls it, until the
  /// engine is closed.
  void set_obstacle(Obstacle obstacle) { obstacle_ = std::move(obstacle); }
  /// Sets the clock by which leases end.
  void set_time(const base::SoftTime& time) { shared_.time = &time; }
  /// Sets the memory in which this node's workers and those of other nodes note when they have missed keys.
  void set_misses(std::span<cc::SharedMissTimes::Line> lines) { shared_.misses = cc::SharedMissTimes(lines); }
  /// Returns the memory of all records and indexes; the fabric registers it.
  memory::Region& region() { return *region_; }

  Schema& schema() { return schema_; }
  Workers& workers() { return workers_; }

  /// Waits for the checkpoint that is in progress, and does as Schema::resize(). Thread-safe, and so are the following.
  Status resize(txn::TableCore* table, std::uint64_t expected_keys);
  Status seal(txn::TableCore* table, std::uint64_t timeout_us);
  Statistics statistics() const;

  // The following are about durability. Without a directory everything that has committed counts as released.
  std::uint64_t released_epoch() const;
  Status wait_released(std::uint64_t epoch, std::uint64_t timeout_us) const;
  Status wait_durable(epoch::Epoch epoch, std::uint64_t timeout_us) const;
  Status log_status() const;
  /// Returns why nothing becomes durable, for callers that only look: unlike log_status() it does not count as having
  /// told the application of a failure, and a database that is closed is no error.
  Status seen_log_status() const;
  /// Whether the log has failed, so that nothing becomes durable any more in this life.
  bool log_has_failed() const { return shared_.log != nullptr && shared_.log->durable().failed(); }
  /// Takes a checkpoint, with the waits of Checkpoints::take().
  Status checkpoint(std::uint64_t timeout_us = Database::kReleaseTimeout_us, Beside beside = Beside::kTransactions);
  const RecoveryReport& recovery_report() const;
  /// Loads this node's records from another node's log (ClusterPart::others_elsewhere), while nobody uses the tables.
  /// It uses up to `threads` threads, which `files` must allow; if that is 1, the calling thread alone. Returns
  /// kUnavailable if the log has not come up to OtherLog::up_to yet. After that, and after any other error but a
  /// shortage of memory, the call may be made again.
  Status take_from(base::FileSystem& files, const OtherLog& other, unsigned threads = 1);
  /// Returns what was loaded so far: from the node's own log, then from each other log. Not called while something is
  /// loaded.
  const std::vector<LoadedLog>& loaded_logs() const;
  /// Notes that all logs have been taken from, so that there may be checkpoints.
  Status have_all();
  /// Notes durably that the node was let in, and may have transactions from the present epoch on
  /// (Storage::note_admitted). Called before the first of them. Does nothing unless ClusterPart::notes_admission is
  /// set.
  Status note_admitted() { return storage_ == nullptr ? Status() : storage_->note_admitted(epochs_.current()); }
  /// Ends the background work and makes everything durable. A second call does nothing, and returns what the first one
  /// has returned if that has ended.
  Status close();
  /// Whether locks at other nodes could not be given back, so that the node's recovery has to do it. Called after
  /// close().
  bool owes() const { return shared_.log != nullptr && shared_.log->owes(); }

  /// Does the work of one epoch period. Returns whether it has advanced E.
  bool step();
  /// Tells the leader how far this node is. Called a few times in each epoch period, in a cluster.
  void publish() { epochs_.publish(durable()); }

 private:
  Engine(const Options& options, std::unique_ptr<memory::Region> region, std::uint64_t limit_bytes,
         std::unique_ptr<Storage> storage, std::unique_ptr<htm::Support> htm, epoch::ControlBlock* control);
  /// Says how stored data are loaded: fast by several threads, or by one that uses no more memory than it must.
  enum class Loading : std::uint8_t { kFast, kFrugal };
  static Result<std::unique_ptr<Engine>> open(const Options& options, base::FileSystem& files, const ClusterPart& part,
                                              Loading loading, bool& try_frugally);
  /// Makes the tables that the storage knows, fills them, and begins to log.
  Status recover(Loading loading);
  Status fill(Loading loading);
  /// Does what close() says. Results become durable meanwhile, so threads that wait for them go on waiting.
  Status end();
  Status may_checkpoint() const;
  /// Calls `load` with the states of so many workers, which are idle; it loads with a thread for each.
  Status load_with(std::uint32_t threads, FunctionRef<Status(std::span<cc::WorkerState* const>)> load);
  void start();
  void start_touching(base::PeriodicThread::Clock::time_point first);
  void start_checkpoints();
  void tell_failed_checkpoint(const Status& cause) const;
  /// Returns the durable epoch of this node's log, of which the leader makes D in a cluster.
  epoch::Epoch durable() const;

  const base::ProcessMark process_;
  const Options options_;
  Obstacle obstacle_;                       ///< empty: nobody knows what keeps D where it is
  const std::unique_ptr<Storage> storage_;  // nullptr: the database is in memory only
  const std::unique_ptr<htm::Support> htm_;
  const std::unique_ptr<memory::Region> region_;
  memory::SlabPool slabs_;
  epoch::EpochManager epochs_;
  base::ThreadWaiter waiter_;
  const std::unique_ptr<cc::tictoc::VersionEnds> version_ends_;  // nullptr, unless Options::tictoc_history
  cc::DatabaseState shared_;
  Schema schema_;
  Workers workers_;
  MemoryRelief relief_{shared_, workers_};
  StallWatch stall_watch_{options_.notices, options_.epoch_ms, epochs_, workers_};
  RingWatch ring_watch_{options_.notices, options_.epoch_ms};

  /// Whether log_status() has told why the log failed, so that the destructor does not. Set by any thread, read by the
  /// destructor; relaxed, as it guards nothing.
  mutable std::atomic<bool> failure_told_{false};
  /// Set by close() when it has ended (release), and read by threads that wait for results, and by a second close()
  /// (both acquire), which then see how far the log has come, and end_status_.
  std::atomic<bool> has_closed_{false};
  Status end_status_;  ///< of end(); written by the first close() before has_closed_, and never again
  /// Set when close() begins, and read by all threads that call the database; relaxed, as it guards nothing.
  std::atomic<bool> closed_{false};
  /// When epoch_thread_ last began a turn; 0 if there is no such thread. Written by that thread, by start() and by
  /// end(); read for statistics, so relaxed.
  std::atomic<std::uint64_t> turned_us_{0};
  std::optional<base::PeriodicThread> epoch_thread_;
  std::optional<base::PeriodicThread> touch_thread_;
  std::optional<base::PeriodicThread> checkpoint_thread_;
};

}  // namespace granary::db
