#include "src/db/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "recovery/owner.h"
#include "recovery/replay.h"
#include "src/base/private_directory.h"
#include "src/base/test_hooks.h"

namespace granary::db {
namespace {

constexpr std::string_view kRingPrefix = "ring-";

std::optional<log::Codec> codec_of(LogCompression compression) {
  switch (compression) {
    case LogCompression::kLz4: return log::Codec::kLz4;
    case LogCompression::kZstd: return log::Codec::kZstd;
    case LogCompression::kNone: break;
  }
  return std::nullopt;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Status Storage::scan() {
  if (manifest_.generations.empty()) return {};
  if (const Status locked = lock_rings_of_manifest(); !locked.ok()) return locked;
  auto survey =
      recovery::survey_log(files_, manifest_, settled_, {.threads = recovery_threads(), .salvage = options_.salvage});
  if (!survey.ok()) return survey.status();
  scan_ = std::move(survey->scan);
  rings_ = std::move(survey->rings);
  if (!rings_.note.empty()) report_.notes.push_back(rings_.note);
  report_.recovered = true;
  report_.rings = !rings_.rings.empty();
  for (const recovery::DroppedTail& tail : scan_.tails) {
    report_.notes.push_back(fmt::format("cut off {} bytes at the end of '{}', from offset {} on: {}", tail.bytes,
                                        tail.path, tail.offset, tail.cause));
  }
  for (const recovery::Loss& loss : scan_.losses) {
    report_.notes.push_back(fmt::format("LOST: transactions of epochs {} to {} may be missing: '{}' at offset {}: {}",
                                        loss.first_epoch, loss.last_epoch, loss.path, loss.offset, loss.cause));
  }
  // Behind every epoch there was, and so far that the first snapshots see all that is recovered.
  first_epoch_ = std::max(first_epoch_, scan_.greatest_epoch + 1 + 2 * options_.snapshot_epochs);
  if (first_epoch_ >= epoch::kLastEpoch) {
    return {
        StatusCode::kResourceExhausted,
        fmt::format("the database in '{}' has used up its epochs: it would go on in epoch {}, and the last in which "
                    "something can be written is {}; its data go into a new database only",
                    options_.directory, first_epoch_, epoch::kLastEpoch - 1)};
  }
  return {};
}

/// Before anything in their directory is replayed or removed: whoever made it could have had this process do so with anything.
Status Storage::lock_rings_of_manifest() {
  const std::string& directory = manifest_.reliable_directory;
  if (directory.empty()) return {};
  const Status checked = base::check_private_directory(directory);
  if (checked.code() == StatusCode::kNotFound) return {};
  if (!checked.ok()) return checked;
  return lock_rings(directory);
}

Status Storage::lock_rings(const std::string& directory) {
  if (ring_lock_ != nullptr && ring_lock_path_ == directory) return {};
  auto locked = base::system_files().lock(fmt::format("{}/{}", directory, recovery::kLockName));
  if (!locked.ok()) return locked.status();
  ring_lock_ = std::move(*locked);
  ring_lock_path_ = directory;
  return {};
}

void Storage::report_progress(std::uint64_t bytes) {
  if (!options_.recovery_progress) return;
  const std::lock_guard lock(
      progress_mutex_);  // several threads report; the caller's function is called by one at a time
  progress_.bytes_done += bytes;
  options_.recovery_progress(progress_);
}

/// The limit that the message names is for the loading that has just been counted: what is missing, and half as much again, since
/// what one record takes of the index and of half-used extents is not known.
Status Storage::check_all_fitted(const memory::SlabPool& slabs) const {
  if (missing_bytes_ == 0) return {};
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const std::uint64_t sufficient = slabs.limit_bytes() + missing_bytes_ / 2 * 3 + 4 * kMiB;
  return {StatusCode::kResourceExhausted,
          fmt::format("'{}' does not fit into its memory limit of {} bytes (Options::memory_limit_bytes); open it with "
                      "{} MiB",
                      options_.directory, slabs.limit_bytes(), (sufficient + kMiB - 1) / kMiB)};
}

Status Storage::recover(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                        bool frugal) {
  if (!report_.recovered) return {};
  const auto start = std::chrono::steady_clock::now();
  if (const Status loaded = load_checkpoint(tables, workers, frugal); !loaded.ok()) return loaded;
  report_.checkpoint_seconds = seconds_since(start);
  if (const Status replayed = replay(tables, workers, frugal); !replayed.ok()) return replayed;
  if (const Status fitted = check_all_fitted(workers.front()->shared.slabs); !fitted.ok()) return fitted;
  for (const std::string& directory : part_.others) {
    if (const Status taken = take_from(files_, directory, tables, workers); !taken.ok()) return taken;
  }
  report_.durable_epoch = cut();
  report_.seconds = seconds_since(start);
  return has_all() ? remove_absents(*workers.front()) : Status();
}

Status Storage::remove_absents(cc::WorkerState& worker) {
  const bool removed = recovery::remove_absents(absents_, worker);
  absents_ = {};
  return removed ? Status() : Status(StatusCode::kResourceExhausted, "recovery: no epoch slot is left");
}

Status Storage::have_all(cc::WorkerState& worker) {
  has_all_.store(true, std::memory_order_release);
  return remove_absents(worker);
}

Status Storage::replay(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                       bool frugal) {
  recovery::ReplayOptions replay{
      .from_epoch = checkpoint_epoch(), .past_durable = report_.rings, .absents = &absents_, .frugal = frugal};
  if (options_.recovery_progress) {
    replay.progress = [this](std::uint64_t done, std::uint64_t all) { options_.recovery_progress({done, all}); };
  }
  const auto replayed = recovery::replay(files_, scan_, rings_.entries(), tables, workers, replay);
  if (!replayed.ok()) return replayed.status();
  report_.transactions = replayed->transactions;
  report_.records += replayed->writes;
  report_.bytes += replayed->bytes;
  missing_bytes_ += replayed->missing_bytes;
  return {};
}

/// What another node's log has of this node's records. It may have begun a new generation by now, which holds nothing of that yet;
/// its checkpoint makes needless only what this node's does as well.
Status Storage::take_from(base::FileSystem& files, const std::string& directory,
                          std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers) {
  auto manifest = recovery::read_manifest(files, directory);
  if (!manifest.ok()) return manifest.status().code() == StatusCode::kNotFound ? Status() : manifest.status();
  if (&files == &files_) {  // where it can be seen whose its log directories are
    auto settled = recovery::settle(files, std::move(*manifest), base::canonical(directory), {});
    if (!settled.ok()) return settled.status();
    manifest = std::move(settled->manifest);
  }
  if (!manifest->generations.empty() && !manifest->generations.back().cut) manifest->generations.pop_back();
  if (manifest->generations.empty()) return {};
  if (manifest->checkpoint) manifest->checkpoint->epoch = std::min(manifest->checkpoint->epoch, checkpoint_epoch());
  const auto threads = static_cast<unsigned>(workers.size());
  const auto scan =
      recovery::scan_logs(files, *manifest, {.threads = threads, .salvage = options_.salvage, .elsewhere = true});
  if (!scan.ok()) return scan.status();
  const auto replayed = recovery::replay(files, *scan, {}, tables, workers,
                                         {.from_epoch = checkpoint_epoch(), .home = part_.node, .absents = &absents_});
  if (!replayed.ok()) return replayed.status();
  report_.records += replayed->writes - replayed->elsewhere;
  report_.bytes += replayed->bytes;
  return {};
}

recovery::NodeLogState Storage::log_state() const {
  return recovery::state_of(manifest_, scan_.durable, report_.rings, first_epoch_);
}

/// A generation that is over counts less far, with what its end has from its rings.
void Storage::shorten(epoch::Epoch limit) {
  std::vector<recovery::Generation>& generations = manifest_.generations;
  bool begun = false;
  for (auto generation = generations.rbegin(); generation != generations.rend() && !begun; ++generation) {
    begun = !generation->end;
    generation->cut = std::min(*generation->cut, limit);
    generation->durable = std::min(generation->durable, limit);
    generation->agreed = begun;
  }
}

Status Storage::end(std::optional<epoch::Epoch> limit, epoch::Epoch first_epoch) {
  if (limit) {
    rings_.rings.clear();
    report_.rings = false;
    scan_.durable = std::min(scan_.durable, *limit);
    if (!log_state().running) shorten(*limit);
  }
  const epoch::EpochManager epochs({.first_epoch = first_epoch});
  const Status begun = begin(epochs, limit ? Ended::kCut : Ended::kWhole);
  log_.reset();
  return begun.ok() ? remove_files(log_directories(), log::is_spare_name) : begun;
}

/// The last epoch that counts of what was recovered.
epoch::Epoch Storage::cut() const { return report_.rings ? scan_.greatest_epoch : scan_.durable; }

Status Storage::begin(epoch::EpochManager& epochs) {
  epochs_ = &epochs;
  if (manifest_.checkpoint) {
    epochs.control().by_node.checkpoint.store(manifest_.checkpoint->epoch, std::memory_order_release);
  }
  return begin(epochs, Ended::kNo);
}

Status Storage::begin(const epoch::EpochManager& epochs, Ended ended) {
  if (const Status known = know_log_directories(); !known.ok()) return known;
  recovery::Manifest next = manifest_;
  next.reliable_directory = ring_directory();
  next.boot = recovery::boot_id();
  if (!next.generations.empty() && !next.generations.back().cut) {
    if (const Status done = end_generation(next.generations.back(), ended == Ended::kCut); !done.ok()) return done;
  }
  const std::uint64_t number = next.generations.empty() ? 1 : next.generations.back().number + 1;
  // What an opening that did not come to its end has left, and what the former process had set aside.
  const auto unfinished = [number](const std::string& name) {
    const auto segment = recovery::parse_segment_name(name);
    return segment ? segment->generation >= number : log::is_spare_name(name);
  };
  if (const Status removed = remove_files(manifest_.log_directories, unfinished); !removed.ok()) return removed;
  next.generations.push_back({.number = number,
                              .loggers = options_.loggers,
                              .first_epoch = epochs.current(),
                              .cut = {},
                              .life = part_.life,
                              .stamp = log::new_stamp()});
  next.generations.back().segments.resize(options_.loggers);
  if (ended != Ended::kNo) {
    next.generations.back().cut = epochs.current();
    next.generations.back().durable = epochs.current() - 1;
    next.generations.back().end = true;
  }
  if (const Status made = base::make_private_directory(next.reliable_directory); !made.ok()) return made;
  if (const Status locked = lock_rings(next.reliable_directory); !locked.ok()) return locked;
  const Status owned = recovery::write_owner(
      base::system_files(), {next.database, next.instance, options_.directory, next.reliable_directory});
  if (!owned.ok()) return owned;

  std::vector<std::string_view> adopted;
  for (const auto& ring : rings_.rings) adopted.push_back(ring->pending());
  auto log = log::Log::open({.files = &files_,
                             .directories = log_directories(),
                             .reliable_directory = next.reliable_directory,
                             .loggers = options_.loggers,
                             .ring_bytes = options_.ring_bytes,
                             .segment_bytes = options_.log_segment_bytes,
                             .reserve_bytes = options_.log_reserve_bytes,
                             .codec = codec_of(options_.log_compression),
                             .cluster = epochs.in_cluster() || ended != Ended::kNo,
                             .threads = options_.background == Background::kThreads && ended == Ended::kNo,
                             .database = manifest_.database,
                             .generation = number,
                             .stamp = next.generations.back().stamp},
                            epochs, epochs.current() - 1, adopted);
  if (!log.ok()) return log.status();
  base::sync_point("storage.log_opened");
  // From here on the new generation counts, and the old one only up to its cut.
  if (const Status written = recovery::write_manifest(files_, options_.directory, next); !written.ok()) return written;
  const recovery::Manifest former = std::exchange(manifest_, std::move(next));
  base::sync_point("storage.manifest_written");
  log_ = std::move(*log);
  lost_ = !scan_.losses.empty();
  scan_ = {};
  if (const Status removed = remove_stale_checkpoints(); !removed.ok()) return removed;
  return remove_rings(former.reliable_directory);
}

/// Cuts the generation that was running off where it counts to. Its log must be on the device so far, as nothing tells any more how
/// far that was synced: the cut may reach beyond that.
Status Storage::end_generation(recovery::Generation& generation, bool agreed) {
  generation.cut = cut();
  generation.durable = scan_.durable;
  generation.agreed = agreed;
  generation.segments.resize(generation.loggers);
  for (const recovery::LogSegment& segment : scan_.segments) {
    if (!segment.running || (!is_last(segment) && segment.faults.empty())) continue;
    log::Position end{segment.name.sequence, 0};
    if (const Status settled = settle_end(segment, end); !settled.ok()) return settled;
    // What is lost makes a checkpoint necessary, and nothing of this generation is wanted after that.
    if (scan_.losses.empty() && is_last(segment)) generation.segments[segment.name.logger].end = end;
  }
  return {};
}

bool Storage::is_last(const recovery::LogSegment& segment) const {
  return std::none_of(scan_.segments.begin(), scan_.segments.end(), [&](const recovery::LogSegment& other) {
    return other.running && other.name.logger == segment.name.logger && other.name.sequence > segment.name.sequence;
  });
}

/// Writes a segment anew, without its torn tail: if a sync of it failed, the system may show bytes that the device
/// never got, and count them as clean. Only a logger's last one can hold such, and the name of the last one in the one before: a segment is
/// synced before the next one begins.
Status Storage::settle_end(const recovery::LogSegment& segment, log::Position& end) {
  auto bytes = base::read_file(files_, segment.path);
  if (!bytes.ok()) return bytes.status();
  for (const recovery::DroppedTail& tail : scan_.tails) {
    if (tail.path == segment.path) bytes->resize(std::min<std::size_t>(bytes->size(), tail.offset));
  }
  end.offset = std::min<std::uint64_t>(segment.end, bytes->size());
  return base::replace_file(files_, segment.path, *bytes);
}

Status Storage::remove_files(const std::vector<std::string>& directories,
                             const std::function<bool(const std::string& name)>& needless) {
  for (const std::string& directory : directories) {
    const auto names = files_.list(directory);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      if (!needless(name)) continue;
      if (const Status removed = files_.remove(directory + "/" + name); !removed.ok()) return removed;
    }
  }
  return {};
}

/// Of the former process, and those that were copied with the database's directory, which nobody uses.
Status Storage::remove_rings(const std::string& former) {
  rings_.rings.clear();
  const std::string& copied = settled_.manifest.reliable_directory;
  const bool is_copied = settled_.copy && recovery::is_inside(options_.directory, copied);
  for (const std::string& directory : {former, manifest_.reliable_directory, is_copied ? copied : std::string()}) {
    if (directory.empty()) continue;
    const auto names = base::system_files().list(directory);
    if (!names.ok() && names.status().code() == StatusCode::kNotFound) continue;
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      if (!name.starts_with(kRingPrefix)) continue;
      if (const Status removed = base::system_files().remove(directory + "/" + name); !removed.ok()) return removed;
    }
    if (directory != manifest_.reliable_directory) remove_ring_directory(directory);
  }
  return {};
}

/// One without rings; the next opening makes it again. What an application put there may stay.
void Storage::remove_ring_directory(const std::string& directory) {
  base::FileSystem& files = base::system_files();
  const auto names = files.list(directory);
  if (!names.ok() || std::any_of(names->begin(), names->end(), recovery::is_ring_name)) return;
  for (const std::string_view name : {recovery::kOwnerName, recovery::kLockName})
    static_cast<void>(files.remove(fmt::format("{}/{}", directory, name)));
  static_cast<void>(files.remove(directory));
}

Status Storage::add_table(const recovery::TableEntry& entry) {
  const std::lock_guard lock(manifest_mutex_);
  recovery::Manifest next = manifest_;
  next.tables.push_back(entry);
  if (const Status written = recovery::write_manifest(files_, options_.directory, next); !written.ok()) return written;
  manifest_ = std::move(next);
  return {};
}

recovery::TableEntry Storage::table(std::uint32_t id) const {
  const std::lock_guard lock(manifest_mutex_);
  return manifest_.tables[id];
}

Status Storage::set_keys(std::uint32_t table, std::uint64_t keys) {
  const std::lock_guard lock(manifest_mutex_);
  recovery::Manifest next = manifest_;
  next.tables[table].hash_keys = keys;
  if (const Status written = recovery::write_manifest(files_, options_.directory, next); !written.ok()) return written;
  manifest_ = std::move(next);
  return {};
}

void Storage::note_keys(std::uint32_t table, std::uint64_t keys) {
  const std::lock_guard lock(manifest_mutex_);
  std::optional<std::uint64_t>& known = manifest_.tables[table].hash_keys;
  if (known) known = std::max(*known, keys);
}

/// The log is whole so far, and whatever is cut off from it later is missed. A node that has ended in order is not asked how far its log
/// reaches when its cluster is recovered.
Status Storage::note_clean_end() {
  const std::lock_guard lock(manifest_mutex_);
  recovery::Manifest next = manifest_;
  recovery::Generation& generation = next.generations.back();
  const log::Log::End end = log_->end();
  generation.cut = generation.durable = end.complete;
  for (std::size_t i = 0; i < end.positions.size(); ++i) generation.segments[i].end = end.positions[i];
  if (const Status written = recovery::write_manifest(files_, options_.directory, next); !written.ok()) return written;
  manifest_ = std::move(next);
  return {};
}

Status Storage::close() {
  if (log_ == nullptr) return {};
  if (const Status closed = log_->close(); !closed.ok()) return closed;
  if (const Status noted = note_clean_end(); !noted.ok()) return noted;
  if (const Status removed = remove_files(log_directories(), log::is_spare_name); !removed.ok()) return removed;
  remove_ring_directory(manifest_.reliable_directory);
  return {};
}

}  // namespace granary::db
