#include "src/db/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "recovery/checkpoint/reader.h"
#include "recovery/checkpoint/writer.h"
#include "recovery/owner.h"
#include "src/base/directory.h"
#include "src/base/test_hooks.h"
#include "src/base/tsc_clock.h"
#include "src/db/database_recovery.h"
#include "src/db/directories.h"

namespace granary::db {
namespace {

/// Returns how many cores' time a checkpoint takes beside transactions, so that they keep more than nine tenths of the
/// machine, caches included. A low priority of its threads would not do instead: a thread that has entered an epoch and
/// has to wait for a core holds E back.
double checkpoint_cores() {
  constexpr double kShare = 0.075;
  return kShare * std::max(1u, std::thread::hardware_concurrency());
}

Status not_durable_yet(const recovery::CheckpointEntry& checkpoint) {
  return {
      StatusCode::kUnavailable,
      fmt::format(
          "the checkpoint of epoch {} counts only once that is durable on every node; try again when E has moved on",
          checkpoint.epoch)};
}

Status database_closes() { return {StatusCode::kUnavailable, "the database closes, and takes no checkpoint"}; }

/// Returns how much a checkpoint leaves free of the file system of its directory. A log that finds no room fails for
/// good, and a checkpoint can be taken again. So it leaves a segment for each logger that writes there, as far as none
/// are set aside, and some more for the manifest and for what comes meanwhile. That is never more than a part of a
/// small file system, nor than half of what is free now: a checkpoint is what makes room, so a small one must be
/// possible on a disk that is nearly full.
Result<std::uint64_t> bytes_to_leave(const Options& options, const log::Log& log, base::FileSystem& files) {
  constexpr std::uint64_t kMore = std::uint64_t{16} << 20, kShare = 8;
  const auto here = base::identity(files, options.directory);
  if (!here.ok()) return here.status();
  const auto capacity = base::capacity_bytes(files, options.directory);
  if (!capacity.ok()) return capacity.status();
  const auto free = base::free_bytes(files, options.directory);
  if (!free.ok()) return free.status();
  std::uint64_t bytes = kMore;
  for (const std::string& directory : log.directories_without_spare()) {
    const auto there = base::identity(files, directory);
    if (!there.ok()) return there.status();
    if (there->device == here->device) bytes += options.log_segment_bytes;
  }
  return std::max<std::uint64_t>(std::min({bytes, *capacity / kShare, *free / 2}),
                                 1);  // since 0 means to leave nothing, and not to look
}

/// Returns the first epoch of which the log is still needed. In a cluster that is at most C, since the log holds writes
/// of other nodes' records, and their checkpoints may be older than this node's.
epoch::Epoch logs_needed_from(const recovery::CheckpointEntry& checkpoint, const epoch::EpochManager& epochs) {
  if (!epochs.in_cluster()) return checkpoint.epoch;
  return std::min(checkpoint.epoch, epochs.control().by_leader.checkpoint.load(std::memory_order_acquire));
}

/// Whether the log directory itself is there, and not only the place where its device is to be mounted: OWNER lies on
/// the device, beside the segments.
bool is_there(base::FileSystem& files, const Options& options, const recovery::Manifest& manifest,
              const std::string& log_directory) {
  if (recovery::is_inside(options.directory, log_directory)) return true;
  const auto owner = recovery::read_owner(files, log_directory);
  return owner.ok() &&
         *owner == recovery::Owner{manifest.database, manifest.instance, options.directory, log_directory};
}

/// Returns the log directories in which this process does not log, and which hold no segment any more. Their users may
/// remove them once the manifest does not name them. One that is not there, or cannot be looked at or synced, is kept:
/// a segment might come back there.
std::vector<std::string> empty_log_directories(base::FileSystem& files, const Options& options,
                                               const recovery::Manifest& manifest) {
  std::vector<std::string> used = options.log_directories;
  if (used.empty()) used.push_back(options.directory);
  std::vector<std::string> empty;
  for (const std::string& directory : manifest.log_directories) {
    if (std::ranges::find(used, directory) != used.end() || !is_there(files, options, manifest, directory)) continue;
    const auto names = files.list(directory);
    const auto is_segment = [](const std::string& name) { return recovery::parse_segment_name(name).has_value(); };
    if (!names.ok() || std::ranges::any_of(*names, is_segment) || !files.sync_directory(directory).ok()) continue;
    empty.push_back(directory);
  }
  return empty;
}

}  // namespace

Status Checkpoints::remove_stale() const {
  Status first;  // the first error; the rest is removed all the same
  const auto names = files_.list(options_.directory);
  if (!names.ok()) return names.status();
  const std::optional<recovery::CheckpointEntry> current =
      manifest_.copy().checkpoint;  // of a copy, as other threads may change the manifest meanwhile
  for (const std::string& name : *names) {
    // A copy beside a checkpoint, such as "checkpoint-000000000050.safe", is its user's.
    if (!recovery::is_checkpoint_name(name) || (current && current->directory == name)) continue;
    const Status removed = recovery::checkpoint::remove_checkpoint(files_, options_.directory + "/" + name);
    // A file of such a name, or a directory that may not be listed, is somebody else's: it stays, and is no error.
    if (first.ok() && !removed.ok() && removed.code() != StatusCode::kUnavailable) first = removed;
  }
  return first;
}

Status Checkpoints::await_turn(std::unique_lock<std::mutex>& turn, std::uint64_t timeout_us,
                               const Obstacle& obstacle) const {
  // A mutex with a time-out of its own would not do, as ThreadSanitizer does not see the system call for that.
  for (; !turn.try_lock(); std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    const std::uint64_t since_us = wait_us_.load(std::memory_order_relaxed);
    if (since_us == 0 || base::monotonic_us() - since_us < timeout_us) continue;
    const std::string reason = obstacle ? obstacle() : std::string();
    return {
        StatusCode::kUnavailable,
        fmt::format("another checkpoint has waited for {:.1f} s until its epoch is durable{}{}",
                    static_cast<double>(base::monotonic_us() - since_us) / 1e6, reason.empty() ? "" : ": ", reason)};
  }
  return {};
}

Status Checkpoints::take(const std::function<std::vector<txn::TableCore*>()>& tables, cc::DatabaseState& shared,
                         std::uint64_t timeout_us, const Obstacle& obstacle, Beside beside) {
  std::unique_lock turn(mutex_, std::defer_lock);
  if (const Status mine = await_turn(turn, timeout_us, obstacle); !mine.ok()) return mine;
  if (shared.log->durable().failed()) return shared.log->durable().cause();
  if (cancelled()) return database_closes();
  const CheckpointFigures::InProgress in_progress(figures_);
  wait_us_.store(base::monotonic_us(), std::memory_order_relaxed);
  auto pinned = await_snapshot(shared.epochs, timeout_us);
  wait_us_.store(0, std::memory_order_relaxed);
  if (!pinned.ok()) return pinned.status();
  std::optional<recovery::checkpoint::SnapshotPin> pin(std::move(pinned).value());
  const recovery::CheckpointEntry entry{pin->epoch(), recovery::checkpoint_name(pin->epoch()), log::new_stamp()};
  // The doubtful checkpoint is whole, and may be the one that counts after a crash: only the sync of its manifest
  // failed.
  if (doubtful_) {
    if (const Status installed = install(*doubtful_, shared); !installed.ok()) return installed;
  }
  const recovery::Manifest manifest = manifest_.copy();
  if (manifest.checkpoint && manifest.checkpoint->epoch >= entry.epoch) return {};  // none is newer
  // An earlier attempt may have failed before it could remove its files, which take the room of this one.
  static_cast<void>(remove_stale());  // if some of them stay, the disk has the less room
  if (const Status removed = recovery::checkpoint::remove_checkpoint(files_, path_of(entry)); !removed.ok())
    return removed;
  const bool alone = beside == Beside::kNothing;
  const auto leave = alone ? Result<std::uint64_t>(0) : bytes_to_leave(options_, *shared.log, files_);
  if (!leave.ok()) return leave.status();
  const double cores = alone ? recovery_threads() : checkpoint_cores();
  const auto threads = static_cast<std::uint32_t>(std::ceil(cores));
  const auto written = recovery::checkpoint::write_checkpoint({.files = &files_,
                                                               .directory = path_of(entry),
                                                               .database = manifest.database,
                                                               .stamp = entry.stamp,
                                                               .partitions = recovery_threads(),
                                                               .threads = threads,
                                                               .duty = cores / threads,
                                                               .leave_bytes = *leave,
                                                               .cancel = &cancelled_},
                                                              shared, *pin, tables());
  // The pin ends here: D may stand still until the whole cluster is recovered, and old versions must not be kept for so
  // long.
  pin.reset();
  if (!written.ok()) return written.status();
  figures_.wrote(written->file_bytes);
  for (const auto& [table, count] : written->tables) manifest_.note_keys(table, count.records);
  base::sync_point("checkpoint.written");
  if (const Status durable = await_durable(entry, shared, timeout_us, obstacle); !durable.ok()) {
    static_cast<void>(recovery::checkpoint::remove_checkpoint(files_, path_of(entry)));  // nobody will ever name it
    return durable;
  }
  return install(entry, shared);
}

/// Pins the newest snapshot, and waits for the first one if there is none. A new database has a snapshot once E has
/// come to its third snapshot period. In a database that was recovered, E begins behind that (first_epoch_behind()).
Result<recovery::checkpoint::SnapshotPin> Checkpoints::await_snapshot(epoch::EpochManager& epochs,
                                                                      std::uint64_t timeout_us) {
  const std::uint64_t since_us = base::monotonic_us();
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    auto pinned = recovery::checkpoint::SnapshotPin::take(epochs);
    if (!pinned.ok() || pinned->epoch() != 0) return pinned;
    if (cancelled()) return database_closes();
    if (options_.background == Background::kManual || base::monotonic_us() - since_us >= timeout_us) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("there is no snapshot yet that a checkpoint could hold: the first one comes when E, "
                                "which is {}, has come to {}; try again then",
                                epochs.current(), 2 * epochs.snapshot_epochs()));
    }
  }
}

/// Waits until the checkpoint may count: it holds the transactions of epochs before its own, and they must be durable
/// everywhere.
Status Checkpoints::await_durable(const recovery::CheckpointEntry& checkpoint, const cc::DatabaseState& shared,
                                  std::uint64_t timeout_us, const Obstacle& obstacle) {
  if (options_.background == Background::kManual) {
    shared.log->step();
    if (shared.epochs.in_cluster() && durable_everywhere(shared.epochs, *shared.log) < checkpoint.epoch - 1)
      return not_durable_yet(checkpoint);
  }
  wait_us_.store(base::monotonic_us(), std::memory_order_relaxed);
  const Status durable =
      wait_durable_everywhere(shared.epochs, *shared.log, checkpoint.epoch - 1,
                              {.timeout_us = timeout_us, .cancel = &cancelled_, .obstacle = &obstacle});
  wait_us_.store(0, std::memory_order_relaxed);
  return durable;
}

/// Makes the checkpoint the current one, and then removes what it makes needless: former checkpoints, and the logs
/// before it. Log directories that former checkpoints have emptied are forgotten. The argument is a copy, as the caller
/// may pass doubtful_, which this changes.
Status Checkpoints::install(recovery::CheckpointEntry checkpoint, const cc::DatabaseState& shared) {
  std::optional<recovery::CheckpointEntry> former;
  recovery::Manifest now;
  const epoch::Epoch needed_from = logs_needed_from(checkpoint, shared.epochs);
  const std::vector<std::uint64_t> first = shared.log->first_after(needed_from == 0 ? 0 : needed_from - 1);
  const std::vector<std::string> retired = empty_log_directories(files_, options_, manifest_.copy());
  doubtful_ = checkpoint;
  const Status named = manifest_.change([&](recovery::Manifest& next) {
    former = std::exchange(next.checkpoint, checkpoint);
    std::erase_if(next.generations, [&](const recovery::Generation& generation) {
      return generation.cut && *generation.cut < needed_from;
    });
    // The manifest names the first segments that are needed before the ones before them are removed, so that the next
    // opening misses each one that is lost, and no other.
    std::vector<recovery::SegmentRange>& segments = next.generations.back().segments;
    for (std::size_t i = 0; i < segments.size(); ++i) segments[i].first = first[i];
    std::erase_if(next.log_directories, [&retired](const std::string& directory) {
      return std::ranges::find(retired, directory) != retired.end();
    });
    now = next;
  });
  if (!named.ok()) return named;
  doubtful_.reset();
  // The leader is told of the checkpoint before the removals, each of which may fail: the logs of all nodes stay until
  // every node has told its checkpoint.
  shared.epochs.control().by_node.checkpoint.store(checkpoint.epoch, std::memory_order_release);
  figures_.installed();
  base::sync_point("checkpoint.installed");
  const Status removed = remove_needless(now, first, shared);
  if (!removed.ok() || !former || former->directory == checkpoint.directory) return removed;
  // remove_stale() has removed it by now, unless the system does not allow that: it says nothing of such directories.
  return recovery::checkpoint::remove_checkpoint(files_, path_of(*former));
}

/// Removes all that it can and returns the first error, so that a device which refuses a removal does not keep files on
/// the other devices from being removed. The next checkpoint tries again.
Status Checkpoints::remove_needless(const recovery::Manifest& now, std::span<const std::uint64_t> first,
                                    const cc::DatabaseState& shared) const {
  const auto of_former_generation = [oldest = now.generations.front().number](const std::string& name) {
    const auto segment = recovery::parse_segment_name(name);
    return segment && segment->generation < oldest;
  };
  const std::array<Status, 3> removed = {shared.log->remove_before(first), remove_stale(),
                                         remove_files(files_, now.log_directories, of_former_generation)};
  const auto failed = std::ranges::find_if_not(removed, &Status::ok);
  return failed == removed.end() ? Status() : *failed;
}

}  // namespace granary::db
