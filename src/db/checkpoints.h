#pragma once
// Takes the checkpoints of a database that serves: writes them, installs them in the manifest once they may count, and
// removes what they replace. One is taken at a time. A checkpoint counts as soon as the manifest on the device names
// it. Nothing that it makes needless is removed before that.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <granary/options.h>
#include <granary/status.h>

#include "recovery/checkpoint/snapshot_pin.h"
#include "recovery/manifest.h"
#include "src/base/file.h"
#include "src/cc/database_state.h"
#include "src/db/checkpoint_figures.h"
#include "src/db/durable_manifest.h"
#include "src/db/released.h"
#include "src/txn/table_core.h"

namespace granary::db {

/// Says what runs while a checkpoint is taken.
enum class Beside : std::uint8_t {
  kTransactions,  ///< it leaves them most of the cores, and gives up, with kDiskFull, before it takes the log's room
  kNothing,       ///< it takes all cores, and all the room there is, since nothing is logged before it has ended
};

class Checkpoints {
 public:
  /// `options` have canonical paths; they and the manifest outlive this.
  Checkpoints(const Options& options, base::FileSystem& files, DurableManifest& manifest)
      : options_(options),
        files_(files),
        manifest_(manifest) {}

  /// Takes a checkpoint, installs it once it may count, and removes what it replaces. `tables` is asked once the
  /// snapshot is pinned: a table that is not among them has no record that the snapshot sees. Waits at most
  /// `timeout_us` for the first snapshot of a new database, and as long again until the checkpoint's epoch is durable
  /// everywhere. Waits for another checkpoint until that has waited for one of these for `timeout_us`. After a timeout
  /// it returns kUnavailable, and removes what was written.
  Status take(const std::function<std::vector<txn::TableCore*>()>& tables, cc::DatabaseState& shared,
              std::uint64_t timeout_us, const Obstacle& obstacle, Beside beside);

  /// Waits for the checkpoint in progress, if any. None is taken while the returned lock is held.
  std::unique_lock<std::mutex> hold_off() { return std::unique_lock(mutex_); }
  /// Ends checkpoints for good: the one in progress ends soon, with kUnavailable and without a trace. Thread-safe.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  /// Removes what is left of checkpoints that were cut short, or whose removal was cut short. Precondition: the
  /// manifest is on the device, and no checkpoint is in progress.
  Status remove_stale() const;

  const CheckpointFigures& figures() const { return figures_; }

 private:
  Status await_turn(std::unique_lock<std::mutex>& turn, std::uint64_t timeout_us, const Obstacle& obstacle) const;
  Result<recovery::checkpoint::SnapshotPin> await_snapshot(epoch::EpochManager& epochs, std::uint64_t timeout_us);
  Status await_durable(const recovery::CheckpointEntry& checkpoint, const cc::DatabaseState& shared,
                       std::uint64_t timeout_us, const Obstacle& obstacle);
  Status install(recovery::CheckpointEntry checkpoint, const cc::DatabaseState& shared);
  Status remove_needless(const recovery::Manifest& now, std::span<const std::uint64_t> first,
                         const cc::DatabaseState& shared) const;
  std::string path_of(const recovery::CheckpointEntry& checkpoint) const {
    return options_.directory + "/" + checkpoint.directory;
  }

  const Options& options_;
  base::FileSystem& files_;
  DurableManifest& manifest_;
  std::mutex mutex_;                                   // held while a checkpoint is taken; guards doubtful_
  std::optional<recovery::CheckpointEntry> doubtful_;  // written, but its manifest may or may not be on the device
  /// When the checkpoint in progress began to wait for the first snapshot, or for D; 0: it does not wait. Written by
  /// the thread that takes it, read by threads that wait for their turn; relaxed, as it guards nothing.
  std::atomic<std::uint64_t> wait_us_{0};
  CheckpointFigures figures_;
  std::atomic<bool> cancelled_{false};  // set by cancel(), read by threads that write a checkpoint; a signal: relaxed
};

}  // namespace granary::db
