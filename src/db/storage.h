#pragma once
// A database directory in use: its lock, its manifest, what is recovered from it, and the log of the running generation.
//
// Opening goes in this order, so that a crash at any place leaves what the next opening can recover to the same state:
// lock; read the manifest; scan the logs, which gives the cut of the generation that was running; load checkpoint and
// logs; what the rings had is written to a segment of that generation and synced; write the manifest with the cut and the new
// generation; only then begin the new log. A log directory is in the manifest before there is a segment in it, so that
// the next opening finds what this one left. E goes on behind every epoch that any file names (DESIGN: epochs that were
// dropped never come back).

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <granary/database.h>
#include <granary/options.h>

#include "recovery/cluster_cut.h"
#include "recovery/log_scan.h"
#include "recovery/manifest.h"
#include "recovery/replay.h"
#include "recovery/settle.h"
#include "recovery/survey.h"
#include "src/base/file.h"
#include "src/cc/worker_state.h"
#include "src/db/checkpoint_figures.h"
#include "src/db/cluster_part.h"
#include "src/db/released.h"
#include "src/log/log.h"
#include "src/txn/table_core.h"

namespace granary::db {

/// That read and write what a recovery needs.
inline unsigned recovery_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

class Storage {
 public:
  /// Locks the directory, reads its manifest or makes it, scans the logs.
  /// kFailedPrecondition if it is of a node whose cluster has to be recovered first (cluster_recovery.h).
  static Result<std::unique_ptr<Storage>> open(const Options& options, base::FileSystem& files,
                                               const ClusterPart& part = {});

  /// Where E must begin.
  epoch::Epoch first_epoch() const { return first_epoch_; }
  /// The tables to make, in the order of their ids, before recover().
  const std::vector<recovery::TableEntry>& tables() const { return manifest_.tables; }
  /// The durable definition of a table or index. Thread-safe.
  recovery::TableEntry table(std::uint32_t id) const;

  /// Fills the tables, with a thread for each of the workers, which are idle; index i of `tables` has id i. kResourceExhausted if they
  /// do not fit into the memory.
  /// `frugal`: slowly, with the memory that the database had when it ran, by one worker; the message tells a memory limit that would do.
  Status recover(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers, bool frugal);
  /// Whether recover() knows a frugal way: not with other nodes' logs, which may have older writes of the same keys.
  bool knows_frugal_way() const { return part_.others.empty() && has_all(); }
  /// The same, after recover() and begin(), with what another node's log has of this node's records; `directory` is that node's, and
  /// `files` where it is. Nobody uses the tables.
  Status take_from(base::FileSystem& files, const std::string& directory, std::span<txn::TableCore* const> tables,
                   std::span<cc::WorkerState* const> workers);
  /// Whether all of ClusterPart::others_elsewhere have been taken from; `worker` is idle.
  Status have_all(cc::WorkerState& worker);
  bool has_all() const { return has_all_.load(std::memory_order_acquire); }
  /// What the recovery of the whole cluster has to know, and what it does instead of recover() and begin(): ends the
  /// last generation that was begun. `limit`: its epochs after that are void; none: all of it counts, with its rings.
  recovery::NodeLogState log_state() const;
  Status end(std::optional<epoch::Epoch> limit, epoch::Epoch first_epoch);

  /// Begins the new generation and its log.
  Status begin(epoch::EpochManager& epochs);

  log::Log& log() { return *log_; }
  const log::Log& log() const { return *log_; }
  const RecoveryReport& report() const { return report_; }
  /// True if stored data was given up (Options::salvage): only a checkpoint makes the next opening possible without.
  bool lost() const { return lost_; }

  /// Makes a new table or index part of the durable schema. Before anything is written to it. Thread-safe.
  Status add_table(const recovery::TableEntry& entry);

  /// The keys for which a hash table is made at the next opening.
  Status set_keys(std::uint32_t table, std::uint64_t keys);
  /// The same if it is more than before, with the next manifest that is written for another reason.
  void note_keys(std::uint32_t table, std::uint64_t keys);

  /// No checkpoint is in progress while this is held.
  std::unique_lock<std::timed_mutex> stop_checkpoints() { return std::unique_lock(checkpoint_mutex_); }

  /// Takes a checkpoint, installs it once it may count, removes what it replaces. `tables` is asked once the snapshot is
  /// pinned: a table that is not among them has no record that the snapshot sees. Waits at most `timeout_us` until its epoch is durable
  /// everywhere, and, if another checkpoint waits for that, for it; then kUnavailable, and what was written is removed.
  Status checkpoint(const std::function<std::vector<txn::TableCore*>()>& tables, cc::Shared& shared,
                    std::uint64_t timeout_us, const Obstacle& obstacle);

  /// For good: the one in progress ends soon, with kUnavailable and without a trace. Thread-safe.
  void cancel_checkpoints() { cancel_checkpoints_.store(true, std::memory_order_relaxed); }

  const CheckpointFigures& checkpoints() const { return checkpoints_; }

  /// All transactions have ended: makes them durable.
  Status close();

 private:
  Storage(const Options& options, base::FileSystem& files, const ClusterPart& part);
  /// A generation that is over as soon as it is there, after one that was cut where all nodes agreed, or was not.
  enum class Ended : std::uint8_t { kNo, kWhole, kCut };
  Status begin(const epoch::EpochManager& epochs, Ended ended);
  Status replay(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers, bool frugal);
  Status remove_absents(cc::WorkerState& worker);
  void shorten(epoch::Epoch limit);
  epoch::Epoch checkpoint_epoch() const { return manifest_.checkpoint ? manifest_.checkpoint->epoch : 0; }
  Status note_clean_end();
  Status refuse_member() const;
  Status lock_and_read();
  Status create_new();
  Status settle(recovery::Manifest manifest);
  Status check_new_directories() const;
  Status check_unowned(const std::vector<std::string>& fresh) const;
  bool was_owned(const std::string& log_directory) const;
  Result<std::string> find(const std::vector<std::string>& directories, bool (*matches)(const std::string& name)) const;
  Status know_log_directories();
  Status scan();
  Status lock_rings_of_manifest();
  Status lock_rings(const std::string& directory);
  void remove_ring_directory(const std::string& directory);
  epoch::Epoch cut() const;
  Status load_checkpoint(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                         bool frugal);
  Status check_all_fitted(const memory::SlabPool& slabs) const;
  void report_progress(std::uint64_t bytes);
  epoch::Epoch logs_needed_from(const recovery::CheckpointEntry& checkpoint) const;
  Status install(const recovery::CheckpointEntry& checkpoint);
  Status remove_superseded(const recovery::Manifest& former, const recovery::Manifest& now);
  Status remove_stale_checkpoints();
  std::optional<recovery::CheckpointEntry> installed_checkpoint() const;
  Status end_generation(recovery::Generation& generation, bool agreed);
  Status settle_end(const recovery::LogSegment& segment, log::Position& end);
  bool is_last(const recovery::LogSegment& segment) const;
  Status remove_files(const std::vector<std::string>& directories,
                      const std::function<bool(const std::string& name)>& needless);
  Status remove_rings(const std::string& former);
  std::vector<std::string> log_directories() const;
  std::string ring_directory() const;

  const Options options_;
  base::FileSystem& files_;
  const ClusterPart part_;
  std::vector<std::unique_ptr<base::File>> locks_;  // of the directory and of log directories outside of it
  std::unique_ptr<base::File> ring_lock_;
  std::string ring_lock_path_;
  bool unsettled_ = false;     // the manifest on the device says other places than manifest_
  recovery::Settled settled_;  // with the manifest as the former opening left it
  recovery::Manifest manifest_;
  mutable std::mutex manifest_mutex_;  // guards manifest_ once the database serves
  std::atomic<std::uint64_t> durable_wait_us_{
      0};                              ///< when the checkpoint in progress began to wait for D; 0: it does not
  std::timed_mutex checkpoint_mutex_;  // one checkpoint at a time; guards doubtful_
  std::optional<recovery::CheckpointEntry> doubtful_;  // written, but its manifest may or may not be on the device
  CheckpointFigures checkpoints_;
  std::atomic<bool> cancel_checkpoints_{false};  // set by who stops, read by who writes one; only a signal, so relaxed
  recovery::LogScan scan_;
  std::vector<recovery::Absent> absents_;  // until all logs have been taken from
  recovery::SurvivingRings rings_;
  std::mutex progress_mutex_;
  RecoveryProgress progress_;
  epoch::Epoch first_epoch_ = 1;
  RecoveryReport report_;
  std::uint64_t missing_bytes_ = 0;  // of memory, as a frugal recovery has found
  bool lost_ = false;
  std::atomic<bool> has_all_;  ///< set once, by who took it all (release); read by who takes a checkpoint (acquire)
  const epoch::EpochManager* epochs_ = nullptr;  // since begin()
  std::unique_ptr<log::Log> log_;
};

}  // namespace granary::db
