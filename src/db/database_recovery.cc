#include "src/db/database_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "recovery/checkpoint/reader.h"
#include "recovery/manifest_text.h"
#include "recovery/mend_indexes.h"
#include "src/base/test_hooks.h"
#include "src/db/memory_limit.h"

namespace granary::db {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Returns the last generation that was begun, if a recovery has ended it: the whole cluster's, or that of a dead node.
const recovery::Generation* ended_by_recovery(const recovery::Manifest& manifest) {
  const auto& generations = manifest.generations;
  if (generations.empty() || !generations.back().end) return nullptr;
  const auto begun = std::find_if(generations.rbegin(), generations.rend(),
                                  [](const recovery::Generation& generation) { return !generation.end; });
  return begun == generations.rend() ? nullptr : &*begun;
}

/// Whether reading another node's log may have ended so because its manifest names less by now. A node that is asked
/// for a file in a directory which it does not know any more refuses, and that comes as kIoError.
bool may_be_outdated(StatusCode code) {
  return code == StatusCode::kNotFound || code == StatusCode::kDamaged || code == StatusCode::kIoError;
}

}  // namespace

std::string to_text(const LoadedLog& loaded) {
  const std::string up_to = loaded.up_to ? fmt::format(" up to epoch {}", *loaded.up_to) : std::string();
  return fmt::format("'{}'{}: {} records from {} bytes in {:.1f} s", loaded.directory, up_to, loaded.records,
                     loaded.bytes, loaded.seconds);
}

unsigned recovery_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

Status DatabaseRecovery::survey(const recovery::Settled& settled) {
  if (!settled.note.empty()) report_.notes.push_back(settled.note);
  for (const OtherLog& other : part_.others) {
    if (other.up_to) begin_behind(*other.up_to);
  }
  if (const Status known = survey_own(settled); !known.ok()) return known;
  if (first_epoch_ < epoch::kLastEpoch) return {};
  return {StatusCode::kResourceExhausted,
          fmt::format("the database in '{}' has used up its epochs: it would go on in epoch {}, and the last in which "
                      "something can be written is {}; its data go into a new database only",
                      options_.directory, first_epoch_, epoch::kLastEpoch - 1)};
}

void DatabaseRecovery::begin_behind(epoch::Epoch loaded) {
  first_epoch_ = std::max(first_epoch_, first_epoch_behind(loaded, options_.snapshot_epochs));
}

Status DatabaseRecovery::survey_own(const recovery::Settled& settled) {
  const recovery::ScanOptions scanning{
      .threads = recovery_threads(), .memory_bytes = scan_memory_bytes(), .salvage = options_.salvage};
  auto surveyed = part_.recent_log_only ? recovery::survey_recent_log(files_, manifest_.now(), settled, scanning)
                                        : recovery::survey_log(files_, manifest_.now(), settled, scanning);
  if (!surveyed.ok()) return surveyed.status();
  if (manifest_.now().generations.empty()) return {};
  survey_ = std::move(*surveyed);
  note_survey();
  return {};
}

Status DatabaseRecovery::survey_whole(const recovery::Settled& settled) {
  auto surveyed = recovery::survey_log(files_, manifest_.now(), settled,
                                       {.threads = recovery_threads(), .memory_bytes = scan_memory_bytes()});
  if (!surveyed.ok()) return surveyed.status();
  survey_ = std::move(*surveyed);
  return {};
}

void DatabaseRecovery::note_survey() {
  const recovery::SurvivingRings& rings = survey_.rings;
  const recovery::LogScan& scan = survey_.scan;
  if (!rings.note.empty()) report_.notes.push_back(rings.note);
  report_.recovered = true;
  report_.rings = !rings.rings.empty();
  for (const recovery::DroppedTail& tail : scan.tails) {
    report_.notes.push_back(fmt::format("cut off {} bytes at the end of '{}', from offset {} on: {}", tail.bytes,
                                        tail.path, tail.offset, tail.cause));
  }
  note_losses(scan);
  begin_behind(scan.greatest_epoch);
  greatest_own_ = greatest_loaded_ = scan.greatest_epoch;
}

/// Notes the losses of a log, which may be the node's own or another node's: other nodes' logs have writes of this
/// node's records.
void DatabaseRecovery::note_losses(const recovery::LogScan& scan) {
  for (const recovery::Loss& loss : scan.losses) {
    lost_ = true;
    report_.notes.push_back(fmt::format("LOST: transactions of epochs {} to {} may be missing: '{}' at offset {}: {}",
                                        loss.first_epoch, loss.last_epoch, loss.path, loss.offset, loss.cause));
  }
}

void DatabaseRecovery::cut_at(epoch::Epoch limit) {
  survey_.rings.rings.clear();
  report_.rings = false;
  survey_.scan.durable = std::min(survey_.scan.durable, limit);
}

recovery::NodeLogState DatabaseRecovery::log_state() const {
  const recovery::LogScan& scan = survey_.scan;
  return recovery::state_of(manifest_.now(), {.durable = scan.durable, .rings = report_.rings}, first_epoch_,
                            scan.released);
}

epoch::Epoch DatabaseRecovery::checkpoint_epoch() const {
  const auto checkpoint = manifest_.copy().checkpoint;
  return checkpoint ? checkpoint->epoch : 0;
}

void DatabaseRecovery::report_progress(std::uint64_t bytes) {
  if (!options_.recovery_progress) return;
  const std::lock_guard lock(
      progress_mutex_);  // several threads report; only one at a time may call the caller's function
  progress_.bytes_done += bytes;
  options_.recovery_progress(progress_);
}

/// Returns an error with a sufficient memory limit, if memory was missing. The limit is for a loading like the one that
/// has just been counted, and has room for what was missing and half as much again, since it is not known what a record
/// takes of the index and of half-used extents.
Status DatabaseRecovery::check_all_fitted(const memory::SlabPool& slabs) const {
  if (missing_bytes_ == 0) return {};
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const std::uint64_t sufficient = slabs.limit_bytes() + missing_bytes_ / 2 * 3 + 4 * kMiB;
  return {StatusCode::kResourceExhausted,
          fmt::format("'{}' does not fit into its memory limit of {} bytes (Options::memory_limit_bytes); open it with "
                      "{} MiB",
                      options_.directory, slabs.limit_bytes(), (sufficient + kMiB - 1) / kMiB)};
}

/// Returns the name by which users set the memory limit. For a node it is a key of the cluster file in which nodes may
/// differ (cluster_config::fingerprint).
std::string DatabaseRecovery::limit_name() const {
  if (part_.control == nullptr) return "Options::memory_limit_bytes";
  return fmt::format("the key 'memory' of node {} in the cluster file, which the other nodes need not have alike",
                     part_.node);
}

Status DatabaseRecovery::recover(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                                 bool frugal) {
  if (!report_.recovered) return {};
  const auto start = std::chrono::steady_clock::now();
  workers.front()->shared.epochs.note_loaded(greatest_own_);
  if (const Status loaded = load_checkpoint(tables, workers, frugal); !loaded.ok()) return loaded;
  report_.checkpoint_seconds = seconds_since(start);
  if (const Status replayed = replay(tables, workers, frugal); !replayed.ok()) return replayed;
  loaded_.push_back({.directory = options_.directory,
                     .bytes = report_.bytes,
                     .records = report_.records,
                     .seconds = seconds_since(start)});
  if (const Status fitted = check_all_fitted(workers.front()->shared.slabs); !fitted.ok()) return fitted;
  note_cut();
  for (const OtherLog& other : part_.others) {
    if (const Status taken = take_from(files_, other, tables, workers); !taken.ok()) return taken;
  }
  if (has_all()) {
    if (const Status settled = settle(tables, *workers.front()); !settled.ok()) return settled;
  }
  report_.seconds = seconds_since(start);
  return {};
}

Status DatabaseRecovery::settle(std::span<txn::TableCore* const> tables, cc::WorkerState& worker) {
  if (lost_ && !base::injected("salvage-leaves-indexes")) {
    const auto mended = recovery::mend_indexes(tables, worker, greatest_loaded_, absents_, limit_name());
    if (!mended.ok()) return mended.status();
    for (const recovery::MendedIndex& index : *mended) {
      report_.notes.push_back(fmt::format(
          "the index '{}' was put in step with its table: {} entries removed, {} added{}", index.name, index.removed,
          index.added,
          index.unlisted == 0
              ? std::string()
              : fmt::format("; {} records are not in it, as another record has their entry", index.unlisted)));
    }
  }
  return remove_absents(worker);
}

/// Notes up to which epoch transactions are there, and whether that includes the rings. If a recovery has ended the
/// last generation, it has made one behind it, whose epochs no transaction has had; so the ended one tells this. Its
/// rings were there if it counts whole, as then nobody had to agree on where to cut it.
void DatabaseRecovery::note_cut() {
  report_.durable_epoch = cut();
  const recovery::Generation* const ended = ended_by_recovery(manifest_.now());
  if (ended == nullptr) return;
  report_.durable_epoch = *ended->cut;
  report_.rings = !ended->agreed;
}

Status DatabaseRecovery::remove_absents(cc::WorkerState& worker) {
  const bool removed = recovery::remove_absents(absents_, worker);
  absents_ = {};
  return removed ? Status() : Status(StatusCode::kResourceExhausted, "recovery: no epoch slot is left");
}

Status DatabaseRecovery::have_all(std::span<txn::TableCore* const> tables, cc::WorkerState& worker) {
  has_all_.store(true, std::memory_order_release);
  return settle(tables, worker);
}

Status DatabaseRecovery::replay(std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers,
                                bool frugal) {
  recovery::ReplayOptions replay{.from_epoch = checkpoint_epoch(),
                                 .past_durable = report_.rings,
                                 .absents = &absents_,
                                 .frugal = frugal,
                                 .incomplete = lost_ || missing_bytes_ != 0,
                                 .limit_name = limit_name()};
  if (options_.recovery_progress) {
    replay.progress = [this](std::uint64_t done, std::uint64_t all) { options_.recovery_progress({done, all}); };
  }
  const auto replayed = recovery::replay(files_, survey_.scan, survey_.rings.entries(), tables, workers, replay);
  if (!replayed.ok()) return replayed.status();
  report_.transactions = replayed->transactions;
  report_.records += replayed->writes;
  report_.bytes += replayed->bytes;
  missing_bytes_ += replayed->missing_bytes;
  if (lost_ && replayed->baseless.records != 0) {
    report_.notes.push_back(fmt::format("LOST: parts of {} values, whose other parts are missing: {}",
                                        replayed->baseless.records, replayed->baseless.first));
  }
  return {};
}

/// Reads the present manifest of another node. The node may have begun a new generation by now; it is left out unless
/// OtherLog::up_to says how far it counts, since it holds nothing of this node's records otherwise. The other node's
/// checkpoint makes a log needless only if this node's checkpoint does, too.
Result<recovery::Manifest> DatabaseRecovery::manifest_of(base::FileSystem& files, const OtherLog& other) const {
  auto manifest = recovery::read_manifest(files, other.directory);
  if (!manifest.ok()) return manifest.status().code() == StatusCode::kNotFound ? recovery::Manifest() : manifest;
  if (&files == &files_) {  // only here can it be seen whose the log directories are
    const auto canonical = base::canonical(other.directory);
    if (!canonical.ok()) return canonical.status();
    auto settled = recovery::settle(files, std::move(*manifest), *canonical, {});
    if (!settled.ok()) return settled.status();
    manifest = std::move(settled->manifest);
  }
  if (!other.up_to && !manifest->generations.empty() && !manifest->generations.back().cut)
    manifest->generations.pop_back();
  if (manifest->checkpoint) manifest->checkpoint->epoch = std::min(manifest->checkpoint->epoch, checkpoint_epoch());
  return manifest;
}

/// The other node may complete a checkpoint meanwhile, and then it removes segments, and forgets log directories, that
/// the manifest read here still names. They hold nothing that this node needs. So a failure, or something that a
/// salvage takes for a loss, counts only if the manifest is still the same.
Status DatabaseRecovery::take_from(base::FileSystem& files, const OtherLog& other,
                                   std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers) {
  auto manifest = manifest_of(files, other);
  while (manifest.ok()) {
    Status taken = take_by(*manifest, files, other, tables, workers);
    if (!may_be_outdated(taken.code())) return taken;
    auto now = manifest_of(files, other);
    if (now.ok() && recovery::manifest_text(*now) == recovery::manifest_text(*manifest)) return taken;
    manifest = std::move(now);
  }
  return manifest.status();
}

bool DatabaseRecovery::is_still(const recovery::Manifest& manifest, base::FileSystem& files,
                                const OtherLog& other) const {
  const auto now = manifest_of(files, other);
  return now.ok() && recovery::manifest_text(*now) == recovery::manifest_text(manifest);
}

Status DatabaseRecovery::take_by(const recovery::Manifest& manifest, base::FileSystem& files, const OtherLog& other,
                                 std::span<txn::TableCore* const> tables, std::span<cc::WorkerState* const> workers) {
  const auto start = std::chrono::steady_clock::now();
  if (manifest.generations.empty()) return {};
  const auto threads = static_cast<unsigned>(workers.size());
  const auto scan = recovery::scan_logs(files, manifest,
                                        {.threads = threads,
                                         .memory_bytes = scan_memory_bytes(),
                                         .salvage = options_.salvage,
                                         .sent = &files != &files_,
                                         .elsewhere = true,
                                         .home = part_.node,
                                         .up_to = other.up_to});
  if (!scan.ok()) return scan.status();
  if (!scan->losses.empty() && !is_still(manifest, files, other)) return {StatusCode::kDamaged, scan->losses[0].cause};
  if (const Status behind = note_loaded(*scan, other, workers.front()->shared.epochs); !behind.ok()) return behind;
  const auto replayed = recovery::replay(
      files, *scan, {}, tables, workers,
      {.from_epoch = checkpoint_epoch(), .home = part_.node, .absents = &absents_, .limit_name = limit_name()});
  if (!replayed.ok()) return replayed.status();
  note_losses(*scan);
  const LoadedLog loaded{.directory = other.directory,
                         .up_to = other.up_to,
                         .bytes = scan->bytes,
                         .records = replayed->writes - replayed->elsewhere,
                         .seconds = seconds_since(start)};
  report_.records += loaded.records;
  report_.bytes += loaded.bytes;
  // The other node's transactions are there up to that epoch. This node comes back, so it has had none meanwhile.
  if (other.up_to) report_.durable_epoch = std::max(report_.durable_epoch, *other.up_to);
  loaded_.push_back(loaded);
  return {};
}

/// Notes up to which epoch transactions were loaded. Returns an error unless this node's own transactions come behind
/// them, and if others serve meanwhile, its own snapshots, too (I16). Markers do not count, since an ended log is
/// marked up to a later epoch. Transactions without a record of this node do not count either: the other node may have
/// committed them since this node began, in a life that began and ended meanwhile. Those behind OtherLog::up_to do not
/// count.
Status DatabaseRecovery::note_loaded(const recovery::LogScan& scan, const OtherLog& other,
                                     epoch::EpochManager& epochs) {
  epoch::Epoch greatest = 0;
  for (const recovery::LogSegment& segment : scan.segments)
    greatest = std::max(greatest, std::min(segment.limit, segment.latest_transaction));
  if (other.up_to) greatest = std::min(greatest, *other.up_to);
  const epoch::Epoch begun = epochs.current();
  if (greatest >= (other.up_to ? epochs.snapshot_of(begun) : begun)) {
    return {StatusCode::kFailedPrecondition,
            fmt::format("the log in '{}' counts up to epoch {}, and this node has begun in epoch {}: it must begin "
                        "behind all that it loads",
                        other.directory, greatest, begun)};
  }
  epochs.note_loaded(greatest);
  greatest_loaded_ = std::max(greatest_loaded_, greatest);
  return {};
}

Status DatabaseRecovery::load_checkpoint(std::span<txn::TableCore* const> tables,
                                         std::span<cc::WorkerState* const> workers, bool frugal) {
  const recovery::Manifest& manifest = manifest_.now();
  if (!manifest.checkpoint) return {};
  const auto loaded =
      recovery::checkpoint::load_checkpoint({.files = &files_,
                                             .directory = options_.directory + "/" + manifest.checkpoint->directory,
                                             .database = manifest.database,
                                             .epoch = manifest.checkpoint->epoch,
                                             .stamp = manifest.checkpoint->stamp,
                                             .limit_name = limit_name(),
                                             .frugal = frugal,
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

}  // namespace granary::db
