#pragma once
// What one database gets back of its stored data when it opens: what its log has, its checkpoint and its logs loaded
// into the tables, and the report of that. What is kept true: nothing on the device changes here, so a recovery that
// comes to nothing can be repeated.

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

  /// Scans the logs of the settled database. The rings of the former process are locked.
  Status survey(const recovery::Settled& settled);
  /// Scans them again, whole, where ClusterPart::recent_log_only has left something out.
  Status survey_whole(const recovery::Settled& settled);
  /// Returns what the log has, from survey() to forget_log().
  const recovery::LogSurvey& log() const { return survey_; }
  void forget_log() { survey_ = {}; }
  /// Lets only the epochs up to `limit` count, and nothing of the rings.
  void cut_at(epoch::Epoch limit);
  /// Returns the last epoch that counts of what the log has.
  epoch::Epoch cut() const { return report_.rings ? survey_.scan.greatest_epoch : survey_.scan.durable; }
  /// Returns where E must begin: behind every epoch there was, and so far that the first snapshots see all that is
  /// recovered.
  epoch::Epoch first_epoch() const { return first_epoch_; }
  /// Returns what the recovery of the whole cluster has to know.
  recovery::NodeLogState log_state() const;

  /// Fills the tables, with a thread for each of the workers, which are idle; index i of `tables` has id i.
  /// kResourceExhausted if they do not fit into the memory. `frugal`: slowly, with the memory that the database had
  /// when it ran, by one worker; the message tells a memory limit that would do.
  Status recover(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers, bool frugal);
  /// Whether recover() knows a frugal way: not with other nodes' logs, which may have older writes of the same keys.
  bool knows_frugal_way() const { return part_.others.empty() && has_all(); }

  /// Loads what another node's log has of this node's records, after recover() and when the new log has begun, with a
  /// thread for each of the workers. `files` is where that log is. Nobody uses the tables. kUnavailable if the log has
  /// not come up to OtherLog::up_to yet; then, and after any error but a shortage of memory, the call may be made
  /// again.
  Status take_from(base::FileSystem& files, const OtherLog& other, std::span<txn::TableCore* const> tables,
                   std::span<cc::WorkerState* const> workers);
  /// Notes that all of ClusterPart::others_elsewhere have been taken from; `worker` is idle.
  Status have_all(std::span<txn::TableCore* const> tables, cc::WorkerState& worker);
  bool has_all() const { return has_all_.load(std::memory_order_acquire); }

  const RecoveryReport& report() const { return report_; }
  /// Adds a line for the user to the report.
  void note(std::string line) { report_.notes.push_back(std::move(line)); }
  /// Returns what was loaded so far: first from the own log, then from each other one.
  const std::vector<LoadedLog>& loaded() const { return loaded_; }
  /// True if stored data was given up (Options::salvage): only a checkpoint makes the next opening possible without.
  bool lost() const { return lost_; }

 private:
  Status survey_own(const recovery::Settled& settled);
  void note_survey();
  void note_losses(const recovery::LogScan& scan);
  void note_cut();
  /// E begins behind what is loaded of these epochs.
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
  /// Does what may be done only when all has been loaded.
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
  epoch::Epoch greatest_own_ = 0;     // that a transaction may have which is loaded from the own directory
  epoch::Epoch greatest_loaded_ = 0;  // and from those of others
  std::uint64_t missing_bytes_ = 0;   // of memory, as a frugal recovery has found
  bool lost_ = false;                 // read by who takes a checkpoint, behind has_all_, before which it was written
  std::atomic<bool> has_all_;  // set once, by who took it all (release); read by who takes a checkpoint (acquire)
};

/// Returns how many threads read and write what a recovery needs.
unsigned recovery_threads();

}  // namespace granary::db
