#pragma once
// Gets back the stored data of one database when it opens: scans its log, loads its checkpoint and all logs into the
// tables, and reports that. Nothing on the device changes here, so a recovery that fails can be repeated.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <granary/database.h>
#include <granary/options.h>

#include "recovery/cluster_cut.h"
#include "recovery/replay.h"
#include "recovery/settle.h"
#include "recovery/survey.h"
#include "src/base/file.h"
#include "src/cc/worker_state.h"
#include "src/db/cluster_part.h"
#include "src/db/durable_manifest.h"
#include "src/txn/table_core.h"

namespace granary::db {

class DatabaseRecovery {
 public:
  /// All that is passed outlives this; `options` have canonical paths.
  DatabaseRecovery(const Options& options, base::FileSystem& files, const ClusterPart& part,
                   const DurableManifest& manifest)
      : options_(options),
        files_(files),
        part_(part),
        manifest_(manifest),
        first_epoch_(part.first_epoch),
        has_all_(!part.others_elsewhere) {}

  /// Scans the logs of the settled database. Precondition: the rings of the former process are locked.
  Status survey(const recovery::Settled& settled);
  /// Scans all of the logs again, including what ClusterPart::recent_log_only has left out.
  Status survey_whole(const recovery::Settled& settled);
  /// Returns what survey() has found in the log. It is there until forget_log().
  const recovery::LogSurvey& log() const { return survey_; }
  void forget_log() { survey_ = {}; }
  /// Lets only the epochs up to `limit` count, and nothing of the rings.
  void cut_at(epoch::Epoch limit);
  /// Returns the last epoch of the log that counts.
  epoch::Epoch cut() const { return report_.rings ? survey_.scan.greatest_epoch : survey_.scan.durable; }
  /// Returns where E must begin: behind every earlier epoch, and so far that the first snapshots see all that is
  /// recovered.
  epoch::Epoch first_epoch() const { return first_epoch_; }
  /// Returns the state of the log, for the recovery of the whole cluster.
  recovery::NodeLogState log_state() const;

  /// Fills the tables, with a thread for each of the workers, which are idle; index i of `tables` has id i. Returns
  /// kResourceExhausted if they do not fit into the memory. If `frugal`, it fills them slowly, by one worker, with the
  /// memory that the database had when it ran, and the message of that error tells a memory limit that would do.
  Status recover(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers, bool frugal);
  /// Whether recover() can be frugal. It cannot with other nodes' logs, which may have older writes of the same keys.
  bool knows_frugal_way() const { return part_.others.empty() && has_all(); }

  /// Loads this node's records from another node's log, which is in `files`, with a thread for each of the workers.
  /// Precondition: nobody uses the tables, and recover() has loaded the node's own log. Returns kUnavailable if the log
  /// has not come up to OtherLog::up_to yet. After that, and after any other error but a shortage of memory, the call
  /// may be made again.
  Status take_from(base::FileSystem& files, const OtherLog& other, std::span<txn::TableCore* const> tables,
                   std::span<cc::WorkerState* const> workers);
  /// Notes that all logs of ClusterPart::others_elsewhere have been taken from, and does what had to wait for that;
  /// `worker` is idle.
  Status have_all(std::span<txn::TableCore* const> tables, cc::WorkerState& worker);
  bool has_all() const { return has_all_.load(std::memory_order_acquire); }

  const RecoveryReport& report() const { return report_; }
  /// Adds a line for the user to the report.
  void note(std::string line) { report_.notes.push_back(std::move(line)); }
  /// Returns what was loaded so far: first from the node's own log, then from each other log.
  const std::vector<LoadedLog>& loaded() const { return loaded_; }
  /// Whether stored data was given up (Options::salvage). If so, the next opening needs a salvage, too, unless a
  /// checkpoint is taken before.
  bool lost() const { return lost_; }

 private:
  Status survey_own(const recovery::Settled& settled);
  void note_survey();
  void note_losses(const recovery::LogScan& scan);
  void note_cut();
  /// Makes E begin behind all that is loaded of epochs up to `loaded`.
  void begin_behind(epoch::Epoch loaded);
  Result<recovery::Manifest> manifest_of(base::FileSystem& files, const OtherLog& other) const;
  /// Returns whether the other node's manifest is still the one that was read.
  bool is_still(const recovery::Manifest& manifest, base::FileSystem& files, const OtherLog& other) const;
  Status take_by(const recovery::Manifest& manifest, base::FileSystem& files, const OtherLog& other,
                 std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers);
  Status note_loaded(const recovery::LogScan& scan, const OtherLog& other, epoch::EpochManager& epochs);
  Status load_checkpoint(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                         bool frugal);
  Status replay(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers, bool frugal);
  /// Mends indexes after a loss and removes absent records, which may be done only when all logs have been loaded.
  Status settle(std::span<txn::TableCore* const> tables, cc::WorkerState& worker);
  Status remove_absents(cc::WorkerState& worker);
  Status check_all_fitted(const memory::SlabPool& slabs) const;
  std::string limit_name() const;
  void report_progress(std::uint64_t bytes);
  epoch::Epoch checkpoint_epoch() const;

  const Options& options_;
  base::FileSystem& files_;
  const ClusterPart& part_;
  const DurableManifest& manifest_;
  recovery::LogSurvey survey_;
  std::vector<recovery::Absent> absents_;  // until all logs have been taken from
  std::mutex progress_mutex_;              // guards progress_
  RecoveryProgress progress_;
  epoch::Epoch first_epoch_;
  RecoveryReport report_;
  std::vector<LoadedLog> loaded_;
  epoch::Epoch greatest_own_ = 0;     // no transaction loaded from the node's own directory has a greater one
  epoch::Epoch greatest_loaded_ = 0;  // no transaction loaded from any directory has a greater one
  std::uint64_t missing_bytes_ = 0;   // memory that a frugal recovery found to be missing
  /// Written while the database opens, and before have_all(). The checkpoint thread reads it after it has seen
  /// has_all_.
  bool lost_ = false;
  std::atomic<bool> has_all_;  // set once, by have_all() (release); read by threads that take a checkpoint (acquire)
};

/// Returns how many threads a recovery uses, and how many parts a checkpoint has for them.
unsigned recovery_threads();

}  // namespace granary::db
