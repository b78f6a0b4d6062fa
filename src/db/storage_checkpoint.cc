// Checkpoints of a database directory: loaded when it opens, written and installed while it serves; and what they make needless.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "recovery/checkpoint/reader.h"
#include "recovery/checkpoint/writer.h"
#include "src/base/test_hooks.h"
#include "src/base/tsc_clock.h"
#include "src/db/released.h"
#include "src/db/storage.h"

namespace granary::db {
namespace {

/// How many cores' time a checkpoint takes, so that transactions keep more than nine tenths of the machine, caches
/// included. It is not a matter of priority: a thread that has entered an epoch and has to wait for a core holds E back.
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

}  // namespace

Status Storage::load_checkpoint(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                                bool frugal) {
  if (!manifest_.checkpoint) return {};
  const auto loaded =
      recovery::checkpoint::load_checkpoint({.files = &files_,
                                             .directory = options_.directory + "/" + manifest_.checkpoint->directory,
                                             .database = manifest_.database,
                                             .epoch = manifest_.checkpoint->epoch,
                                             .stamp = manifest_.checkpoint->stamp,
                                             .count_missing = frugal,
                                             .progress = [this](std::uint64_t bytes) { report_progress(bytes); }},
                                            tables, workers);
  if (!loaded.ok()) return loaded.status();
  report_.records += loaded->records;
  report_.bytes += loaded->file_bytes;
  missing_bytes_ += loaded->missing_bytes;
  report_.checkpoint_records = loaded->records;
  report_.checkpoint_bytes = loaded->file_bytes;
  return {};
}

/// What checkpoints that did not come to their end, or were not removed to the end, have left.
Status Storage::remove_stale_checkpoints() {
  const auto names = files_.list(options_.directory);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (!name.starts_with(recovery::kCheckpointPrefix) ||
        (manifest_.checkpoint && manifest_.checkpoint->directory == name))
      continue;
    const Status removed = recovery::checkpoint::remove_checkpoint(files_, options_.directory + "/" + name);
    if (!removed.ok()) return removed;
  }
  return {};
}

std::optional<recovery::CheckpointEntry> Storage::installed_checkpoint() const {
  const std::lock_guard lock(manifest_mutex_);
  return manifest_.checkpoint;
}

Status Storage::checkpoint(const std::function<std::vector<txn::TableCore*>()>& tables, cc::Shared& shared,
                           std::uint64_t timeout_us, const Obstacle& obstacle) {
  std::unique_lock lock(checkpoint_mutex_, std::defer_lock);
  while (!lock.try_lock_for(std::chrono::milliseconds(50))) {
    const std::uint64_t since_us = durable_wait_us_.load(std::memory_order_relaxed);
    if (since_us == 0 || base::monotonic_us() - since_us < timeout_us) continue;
    const std::string reason = obstacle ? obstacle() : std::string();
    return {
        StatusCode::kUnavailable,
        fmt::format("another checkpoint has waited for {:.1f} s until its epoch is durable{}{}",
                    static_cast<double>(base::monotonic_us() - since_us) / 1e6, reason.empty() ? "" : ": ", reason)};
  }
  if (log_->durable().failed()) return log_->durable().cause();
  if (!has_all()) {
    return {StatusCode::kUnavailable, "some of the node's records are still to come from other hosts' logs"};
  }
  const CheckpointFigures::InProgress in_progress(checkpoints_);
  auto pinned = recovery::checkpoint::SnapshotPin::take(shared.epochs);
  if (!pinned.ok()) return pinned.status();
  std::optional<recovery::checkpoint::SnapshotPin> pin(std::move(pinned).value());
  if (pin->epoch() == 0) return {};  // there is no snapshot yet, so nothing that it could hold
  const recovery::CheckpointEntry entry{
      pin->epoch(), fmt::format("{}{:012}", recovery::kCheckpointPrefix, pin->epoch()), log::new_stamp()};
  // One that is whole, and perhaps the one in force after a crash: only the sync of its manifest failed.
  if (doubtful_) {
    if (const Status installed = install(*doubtful_); !installed.ok()) return installed;
  }
  if (const auto current = installed_checkpoint(); current && current->epoch >= entry.epoch)
    return {};  // none is newer
  const std::string path = options_.directory + "/" + entry.directory;
  if (const Status removed = recovery::checkpoint::remove_checkpoint(files_, path); !removed.ok()) return removed;
  const auto threads = static_cast<std::uint32_t>(std::ceil(checkpoint_cores()));
  const auto written = recovery::checkpoint::write_checkpoint({.files = &files_,
                                                               .directory = path,
                                                               .database = manifest_.database,
                                                               .stamp = entry.stamp,
                                                               .partitions = recovery_threads(),
                                                               .threads = threads,
                                                               .duty = checkpoint_cores() / threads,
                                                               .cancel = &cancel_checkpoints_},
                                                              shared, *pin, tables());
  pin.reset();  // D may stand still until the whole cluster is recovered, and old versions are not to be kept for so long
  if (!written.ok()) return written.status();
  checkpoints_.wrote(written->file_bytes);
  for (const auto& [table, count] : written->tables) note_keys(table, count.records);
  base::sync_point("checkpoint.written");
  // It holds the transactions of epochs < its own; it counts once these are durable everywhere.
  if (options_.background == Background::kManual) {
    log_->step();
    if (shared.epochs.in_cluster() && durable_everywhere(shared.epochs, *log_) < entry.epoch - 1)
      return not_durable_yet(entry);
  }
  durable_wait_us_.store(base::monotonic_us(), std::memory_order_relaxed);
  const Status durable =
      wait_durable_everywhere(shared.epochs, *log_, entry.epoch - 1,
                              {.timeout_us = timeout_us, .cancel = &cancel_checkpoints_, .obstacle = &obstacle});
  durable_wait_us_.store(0, std::memory_order_relaxed);
  if (!durable.ok()) {
    if (timeout_us != log::DurableEpoch::kForever) (void)recovery::checkpoint::remove_checkpoint(files_, path);
    return durable;
  }
  if (const Status installed = install(entry); !installed.ok()) return installed;
  shared.epochs.control().by_node.checkpoint.store(entry.epoch, std::memory_order_release);
  return {};
}

/// In a cluster the logs of before C are needless, not those before this node's own checkpoint: they hold writes of other
/// nodes' records.
epoch::Epoch Storage::logs_needed_from(const recovery::CheckpointEntry& checkpoint) const {
  if (!epochs_->in_cluster()) return checkpoint.epoch;
  return std::min(checkpoint.epoch, epochs_->control().by_leader.checkpoint.load(std::memory_order_acquire));
}

/// Makes the checkpoint current, and then removes what it makes needless: the one before, and the logs below it.
Status Storage::install(const recovery::CheckpointEntry& checkpoint) {
  recovery::Manifest former;
  recovery::Manifest next;
  const epoch::Epoch needed_from = logs_needed_from(checkpoint);
  const std::vector<std::uint64_t> first = log_->first_after(needed_from == 0 ? 0 : needed_from - 1);
  doubtful_ = checkpoint;
  {
    const std::lock_guard lock(manifest_mutex_);
    next = manifest_;
    next.checkpoint = checkpoint;
    std::erase_if(next.generations, [&](const recovery::Generation& generation) {
      return generation.cut && *generation.cut < needed_from;
    });
    // Named before those below are removed: what is missing from there on is missed.
    std::vector<recovery::SegmentRange>& segments = next.generations.back().segments;
    for (std::size_t i = 0; i < segments.size(); ++i) segments[i].first = first[i];
    if (const Status done = recovery::write_manifest(files_, options_.directory, next); !done.ok()) return done;
    former = std::exchange(manifest_, next);
  }
  doubtful_.reset();
  checkpoints_.installed();
  base::sync_point("checkpoint.installed");
  if (const Status removed = log_->remove_before(first); !removed.ok()) return removed;
  return remove_superseded(former, next);
}

Status Storage::remove_superseded(const recovery::Manifest& former, const recovery::Manifest& now) {
  if (former.checkpoint) {
    const std::string path = options_.directory + "/" + former.checkpoint->directory;
    if (const Status removed = recovery::checkpoint::remove_checkpoint(files_, path); !removed.ok()) return removed;
  }
  return remove_files(now.log_directories, [oldest = now.generations.front().number](const std::string& name) {
    const auto segment = recovery::parse_segment_name(name);
    return segment && segment->generation < oldest;
  });
}

}  // namespace granary::db
