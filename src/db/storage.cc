#include "src/db/storage.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster_config/membership/life.h"
#include "recovery/segment_end.h"
#include "recovery/user.h"
#include "src/base/directory.h"
#include "src/base/test_hooks.h"
#include "src/db/member_file.h"

namespace granary::db {
namespace {

std::optional<log::Codec> codec_of(LogCompression compression) {
  switch (compression) {
    case LogCompression::kLz4: return log::Codec::kLz4;
    case LogCompression::kZstd: return log::Codec::kZstd;
    case LogCompression::kNone: break;
  }
  return std::nullopt;
}

/// Returns the options with absolute paths. The manifest keeps the directories, and they must mean the same to the next
/// opening.
Result<Options> with_absolute_paths(Options options) {
  std::vector<std::string*> paths{&options.directory, &options.reliable_directory};
  for (std::string& directory : options.log_directories) paths.push_back(&directory);
  for (std::string* const path : paths) {
    if (path->empty()) continue;
    auto absolute = base::canonical(*path);
    if (!absolute.ok()) return absolute.status();
    *path = std::move(*absolute);
  }
  return options;
}

/// Refuses to open the directory of a cluster's node alone: all nodes have to agree on how far its log counts, and part
/// of its records may be in other nodes' logs.
Status refuse_member(base::FileSystem& files, const std::string& directory) {
  const auto names = files.list(directory);
  if (!names.ok() || std::find(names->begin(), names->end(), membership::kLifeName) == names->end()) return {};
  return {
      StatusCode::kFailedPrecondition,
      fmt::format("'{}' has the data of a node of a cluster, as its {} says: `granary node`, or a program that joins "
                  "the cluster, opens it; alone it would not be whole",
                  directory, membership::kLifeName)};
}

/// Makes a generation that is over count up to `limit` only, together with those that recoveries have put behind it,
/// which may have the rest of it from its rings.
void shorten(std::vector<recovery::Generation>& generations, epoch::Epoch limit) {
  bool begun = false;
  for (auto generation = generations.rbegin(); generation != generations.rend() && !begun; ++generation) {
    begun = !generation->end;
    generation->cut = std::min(*generation->cut, limit);
    generation->durable = std::min(generation->durable, limit);
    generation->agreed = begun;
  }
}

bool is_last(const recovery::LogScan& scan, const recovery::LogSegment& segment) {
  return std::none_of(scan.segments.begin(), scan.segments.end(), [&](const recovery::LogSegment& other) {
    return other.running && other.name.logger == segment.name.logger && other.name.sequence > segment.name.sequence;
  });
}

/// Whether the segment may lack a sync since the name of the next one was written to its end. A logger writes more than
/// the first marker to the next segment only after that sync.
bool may_lack_sync(const recovery::LogScan& scan, const recovery::LogSegment& segment) {
  if (base::injected("count-link-as-synced")) return false;
  return std::any_of(scan.segments.begin(), scan.segments.end(), [&](const recovery::LogSegment& next) {
    return next.running && next.name.logger == segment.name.logger && next.name.sequence == segment.name.sequence + 1 &&
           next.transactions == 0 && next.markers <= 1;
  });
}

/// Notes the ends up to which rings say that logs had been synced, if these logs cannot be read so far. The rings are
/// removed soon. If the salvage is interrupted before its checkpoint, the next opening still misses what was lost.
void note_lost_ends(const recovery::LogSurvey& survey, recovery::Generation& generation) {
  if (survey.scan.losses.empty()) return;
  for (const auto& ring : survey.rings.rings) {
    const std::uint32_t logger = ring->header().logger;
    if (ring->position() <= survey.scan.ends[logger].position) continue;
    auto& end = generation.segments[logger].end;
    end = std::max(end.value_or(log::Position()), ring->position());
  }
}

std::uint64_t next_number(const recovery::Manifest& manifest) {
  return manifest.generations.empty() ? 1 : manifest.generations.back().number + 1;
}

/// Whether this names a copy that was to replace a segment (recovery/segment_end.cc). None is being written when this
/// is called.
bool is_unfinished_segment(std::string_view name) {
  return name.ends_with(base::kAsideSuffix) &&
         recovery::parse_segment_name(name.substr(0, name.size() - base::kAsideSuffix.size()));
}

}  // namespace

Storage::Storage(Options options, base::FileSystem& files, const ClusterPart& part)
    : options_(std::move(options)),
      files_(files),
      part_(part) {}

Result<std::unique_ptr<Storage>> Storage::open(const Options& options, base::FileSystem& files,
                                               const ClusterPart& part) {
  auto absolute = with_absolute_paths(options);
  if (!absolute.ok()) return absolute.status();
  std::unique_ptr<Storage> storage(new Storage(std::move(*absolute), files, part));
  const std::string& directory = storage->options_.directory;
  const bool alone = part.control == nullptr && !part.recovers_all;
  if (alone) {
    if (const Status refused = refuse_member(files, directory); !refused.ok()) return refused;
  }
  if (const Status opened = storage->directories_.open(); !opened.ok()) return opened;
  if (alone) {
    // The file that says whose the data are may be gone; the manifest still tells that a node wrote them.
    const Status known = check_member_file(files, directory, storage->manifest_.now());
    if (!known.ok()) return known;
  }
  if (!storage->manifest_.now().generations.empty()) {
    if (const Status locked = storage->directories_.lock_former_rings(); !locked.ok()) return locked;
  }
  base::sync_point("storage.manifest_read");
  if (const Status known = storage->recovery_.survey(storage->directories_.settled()); !known.ok()) return known;
  if (part.control != nullptr && storage->recovery_.log_state().running) {
    return Status(
        StatusCode::kFailedPrecondition,
        fmt::format("'{}' is of a node that did not end in order: the whole cluster has to be recovered before "
                    "any of its nodes starts",
                    options.directory));
  }
  return storage;
}

Status Storage::end(std::optional<epoch::Epoch> limit, epoch::Epoch first_epoch) {
  if (limit) {
    recovery_.cut_at(*limit);
    if (!recovery_.log_state().running) {
      recovery::Manifest shortened = manifest_.now();
      shorten(shortened.generations, *limit);
      manifest_.adopt(std::move(shortened));
    }
  }
  const epoch::EpochManager epochs({.first_epoch = first_epoch});
  const Status begun = begin(epochs, limit ? Ended::kCut : Ended::kWhole);
  log_.reset();
  return begun.ok() ? remove_files(files_, directories_.of_log(), log::is_spare_name) : begun;
}

Status Storage::begin(epoch::EpochManager& epochs) {
  if (const auto& checkpoint = manifest_.now().checkpoint) {
    epochs.control().by_node.checkpoint.store(checkpoint->epoch, std::memory_order_release);
  }
  return begin(epochs, Ended::kNo);
}

recovery::Generation Storage::next_generation(const epoch::EpochManager& epochs, Ended ended) const {
  recovery::Generation next{.number = next_number(manifest_.now()),
                            .loggers = options_.loggers,
                            .first_epoch = epochs.current(),
                            .cut = {},
                            .life = part_.life,
                            .begins_empty = part_.notes_admission,
                            .stamp = log::new_stamp(),
                            .protocol = options_.protocol};
  next.segments.resize(options_.loggers);
  if (ended != Ended::kNo) {
    next.cut = epochs.current();
    next.durable = epochs.current() - 1;
    next.end = true;
  }
  return next;
}

/// Opens the log of the generation. It begins with what the rings of the former process had.
Result<std::unique_ptr<log::Log>> Storage::open_log(const recovery::Generation& generation,
                                                    const epoch::EpochManager& epochs, Ended ended) {
  std::vector<std::string_view> adopted;
  for (const auto& ring : recovery_.log().rings.rings) adopted.push_back(ring->pending());
  return log::Log::open({.files = &files_,
                         .directories = directories_.of_log(),
                         .reliable_directory = directories_.of_rings(),
                         .loggers = options_.loggers,
                         .ring_bytes = options_.ring_bytes,
                         .segment_bytes = options_.log_segment_bytes,
                         .reserve_bytes = ended == Ended::kNo ? options_.log_reserve_bytes : 0,
                         .codec = codec_of(options_.log_compression),
                         .cluster = epochs.in_cluster() || ended != Ended::kNo,
                         .threads = options_.background == Background::kThreads && ended == Ended::kNo,
                         .database = manifest_.now().database,
                         .generation = generation.number,
                         .stamp = generation.stamp},
                        epochs, epochs.current() - 1, adopted);
}

/// Removes checkpoints that the manifest does not name, and files that an unfinished opening has left or the former
/// process had set aside. That comes before the opening asks for room, since a full disk has no other.
Status Storage::remove_garbage() {
  const recovery::Manifest& now = manifest_.now();
  const std::uint64_t next = next_number(now);
  const auto unfinished = [next](const std::string& name) {
    if (const auto segment = recovery::parse_segment_name(name)) return segment->generation >= next;
    return log::is_spare_name(name) || is_unfinished_segment(name);
  };
  // These files are garbage by an older manifest, too. They go first, as what follows may need their room.
  if (const Status removed = remove_files(files_, now.log_directories, unfinished); !removed.ok()) return removed;
  static_cast<void>(remove_files(files_, {options_.directory}, recovery::is_probe_name));
  // Until the manifest is on the device, a power loss may bring back the one before it, which names another checkpoint.
  if (const Status secured = recovery::secure_manifest(files_, options_.directory); !secured.ok()) return secured;
  if (const Status removed = checkpoints_.remove_stale(); !removed.ok())
    recovery_.note(fmt::format("a checkpoint that is not needed any more stays: {}", removed.message()));
  // The removals are synced before the manifest knows a generation of the same number: a segment that came back later
  // would be taken for one of that generation.
  for (const std::string& directory : now.log_directories) {
    if (const Status synced = files_.sync_directory(directory); !synced.ok()) return synced;
  }
  return {};
}

Status Storage::begin(const epoch::EpochManager& epochs, Ended ended) {
  const auto boot =
      recovery::boot_id();  // comes before any change, because without it the new rings would count for nothing
  if (!boot.ok()) return boot.status();
  if (const Status known = directories_.claim_log(); !known.ok()) return known;
  if (const Status removed = remove_garbage(); !removed.ok()) return removed;
  std::vector<recovery::Generation> generations = manifest_.now().generations;
  if (!generations.empty() && !generations.back().cut) {
    if (const Status done = end_generation(generations.back(), ended == Ended::kCut); !done.ok()) return done;
  }
  generations.push_back(next_generation(epochs, ended));
  if (const Status claimed = directories_.claim_rings(); !claimed.ok()) return claimed;
  auto log = open_log(generations.back(), epochs, ended);
  if (!log.ok()) return log.status();
  log_ = std::move(*log);
  base::sync_point("storage.log_opened");
  const Status adopted = adopt(generations, *boot);
  if (adopted.ok()) return {};
  // The segments that the log has set aside go, as they would take the room of the next attempt. Those that it has
  // begun stay, as the manifest on the device may name them.
  log_.reset();
  static_cast<void>(remove_files(files_, directories_.of_log(), log::is_spare_name));
  return adopted;
}

/// Makes the new generation count, whose log is open, and the old one count only up to its cut.
Status Storage::adopt(const std::vector<recovery::Generation>& generations, const std::string& boot) {
  const std::string former_rings = manifest_.now().reliable_directory;
  const Status written = manifest_.change([&](recovery::Manifest& next) {
    next.reliable_directory = directories_.of_rings();
    next.boot = boot;
    next.generations = generations;
  });
  if (!written.ok()) return written;
  base::sync_point("storage.manifest_written");
  // The log says that the manifest names it before the former rings go, and before there are new ones: from then on an
  // older manifest would lose what they have, so it is refused.
  if (const Status started = log_->start(); !started.ok()) return started;
  base::sync_point("storage.log_started");
  recovery_.forget_log();
  return directories_.remove_rings(former_rings);
}

/// Cuts off the generation that was running at the last epoch that counts. Its log must be on the device up to there:
/// afterwards nothing tells how far it was synced, and the cut may reach beyond that.
Status Storage::end_generation(recovery::Generation& generation, bool agreed) {
  const recovery::LogScan& scan = recovery_.log().scan;
  generation.cut = recovery_.cut();
  generation.durable = scan.durable;
  generation.agreed = agreed;
  generation.segments.resize(generation.loggers);
  for (const recovery::LogSegment& segment : scan.segments) {
    if (!segment.running) continue;
    if (!is_last(scan, segment) && segment.faults.empty() && !may_lack_sync(scan, segment)) continue;
    log::Position end{segment.name.sequence, segment.end};
    if (const Status written = recovery::rewrite_end(files_, recovery_.log(), segment, end.offset); !written.ok())
      return written;
    // After a loss this is no end that a later opening may rely on.
    if (scan.losses.empty() && is_last(scan, segment)) generation.segments[segment.name.logger].end = end;
  }
  note_lost_ends(recovery_.log(), generation);
  return {};
}

/// Notes where the log ends. It is whole up to there, so the next opening misses whatever is cut off from it later. A
/// node that has ended in order is not asked how far its log reaches when its cluster is recovered. The epoch that has
/// been released by now tells then whether the logs of others have lost something.
Status Storage::note_clean_end() {
  const log::Log::End end = log_->end();
  const epoch::Epoch released =
      part_.control == nullptr ? 0 : part_.control->by_leader.durable.load(std::memory_order_acquire);
  return manifest_.change([&](recovery::Manifest& next) {
    recovery::Generation& generation = next.generations.back();
    generation.cut = generation.durable = end.complete;
    // D may have moved while its node was not let in, but no result was released then.
    generation.released = generation.is_empty() ? 0 : std::min(released, end.complete);
    for (std::size_t i = 0; i < end.positions.size(); ++i) generation.segments[i].end = end.positions[i];
  });
}

Status Storage::note_admitted(epoch::Epoch epoch) {
  if (!part_.notes_admission) return {};
  return manifest_.change([epoch](recovery::Manifest& next) { next.generations.back().admitted = epoch; });
}

Status Storage::close() {
  if (log_ == nullptr) return {};
  if (const Status closed = log_->close(); !closed.ok() || log_->owes()) return closed;
  base::sync_point("storage.closed_log");
  // The end is noted before the rings are removed. A process that dies between these has ended in order; one that dies
  // earlier leaves all that a recovery needs.
  if (const Status noted = note_clean_end(); !noted.ok()) return noted;
  base::sync_point("storage.end_noted");
  if (const Status removed = log_->remove_rings(); !removed.ok()) return removed;
  if (const Status removed = remove_files(files_, directories_.of_log(), log::is_spare_name); !removed.ok())
    return removed;
  Directories::remove_ring_directory(manifest_.now().reliable_directory);
  return {};
}

}  // namespace granary::db
