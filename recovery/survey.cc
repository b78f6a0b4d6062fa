#include "recovery/survey.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/private_directory.h"
#include "recovery/entry_check.h"
#include "src/base/test_hooks.h"
#include "src/cc/protocols.h"
#include "src/log/format.h"
#include "src/record/tid.h"

namespace granary::recovery {
namespace {

/// Checks the rings' directory before anything in it is replayed or removed. A user who can write there could make this
/// process replay or remove anything.
Status check_ring_directory(const Manifest& manifest) {
  if (manifest.reliable_directory.empty()) return {};
  const Status checked = base::check_private_directory(manifest.reliable_directory);
  return checked.code() == StatusCode::kNotFound ? Status() : checked;
}

std::string text_of(const log::Position& position, const Generation& generation, std::uint32_t logger) {
  return fmt::format("'{}', offset {}", log::segment_name(generation.number, logger, position.sequence),
                     position.offset);
}

/// Reports a gap between the log's end and the ring's beginning: as an error, or with salvage as a loss.
Status check_position(const log::Ring& ring, const Manifest& manifest, bool salvage, LogScan& scan) {
  const Generation& generation = manifest.generations.back();
  const std::string path = manifest.reliable_directory + "/" + log::ring_name(ring.header().worker);
  const std::uint32_t logger = ring.header().logger;
  if (logger >= scan.ends.size()) {
    return {StatusCode::kDamaged, fmt::format("the log ring '{}' is of logger {}, but generation {} had {} loggers",
                                              path, logger, generation.number, generation.loggers)};
  }
  const ReadableEnd& end = scan.ends[logger];
  if (ring.position() <= end.position || base::injected("ignore-ring-position")) return {};
  const std::string cause = fmt::format("{}, and the log ring '{}' goes on from {}", end.cause, path,
                                        text_of(ring.position(), generation, logger));
  if (salvage) {
    scan.losses.push_back(
        {end.path, end.position.offset, 0, scan.durable + 1, std::max(scan.greatest_epoch, scan.durable + 1), cause});
    return {};
  }
  return {
      StatusCode::kDamaged,
      fmt::format("the log has lost what had been synced: it can be read up to '{}', offset {} ({}); transactions of "
                  "epochs after {} would be missing. Mount the device that has all of it",
                  end.path, end.position.offset, cause, scan.durable)};
}

/// Checks the entries of a ring, which have no checksums in memory. A ring is a list of whole transactions, each with
/// whole writes. The TIDs of a worker ascend (I1), unless its protocol chooses them before its last waits: then another
/// transaction of the worker may log a later TID first. That TID is of the next epoch at most, since E goes no further
/// while the first transaction is open (I13). A ring that breaks these rules is damaged.
Status check_entries(const RingEntries& ring, const std::string& directory, bool tids_ascend) {
  const auto damaged = [&](std::uint64_t at, std::string_view cause) {
    return Status(StatusCode::kDamaged, fmt::format("the log ring '{}/{}' is damaged at {} bytes behind its head: {}",
                                                    directory, ring.name, at, cause));
  };
  EntryList entries(ring.entries);
  Entry entry;
  record::TidWord greatest = 0;
  for (std::uint64_t at = 0; entries.next(&entry); at = entries.offset()) {
    const record::TidWord tid = entry.header.tid();
    if (tids_ascend && tid <= greatest) return damaged(at, "its TID is not greater than the one before");
    if (record::epoch_of(tid) + 1 < record::epoch_of(greatest))
      return damaged(at, "its epoch lies more than one before that of an earlier entry");
    greatest = std::max(greatest, tid);
    if (entry.body.empty()) return damaged(at, kWithoutWrites);
    log::WriteReader writes(entry.body);
    for (log::Write write; writes.next(&write);) continue;
    if (writes.malformed()) return damaged(at, "a transaction whose writes are malformed");
  }
  return entries.fault() == nullptr ? Status() : damaged(entries.offset(), entries.fault());
}

Result<SurvivingRings> whole_rings(const Manifest& manifest, const Settled& settled) {
  auto rings = settled.rings();
  if (!rings.ok()) return rings;
  const auto protocol = cc::Protocols::number_of(manifest.generations.back().protocol);
  const bool tids_ascend = !protocol || cc::abilities_of(*protocol).in_real_time;
  for (const RingEntries& ring : rings->entries()) {
    if (const Status whole = check_entries(ring, manifest.reliable_directory, tids_ascend); !whole.ok()) return whole;
  }
  return rings;
}

/// Returns the manifest as it would be if a checkpoint had made all segments needless that stand before the rings'
/// positions. A logger without rings keeps all segments of its last generation, as nothing says how far that was
/// synced.
Manifest recent_part(const Manifest& manifest, const SurvivingRings& rings) {
  Manifest recent = manifest;
  if (recent.generations.size() > 1) recent.generations.erase(recent.generations.begin(), recent.generations.end() - 1);
  Generation& last = recent.generations.back();
  last.segments.resize(last.loggers);
  std::vector<std::uint64_t> newest(last.loggers);
  for (const auto& ring : rings.rings) {
    const std::uint32_t logger = ring->header().logger;
    if (logger >= last.loggers) return manifest;  // which the survey reports
    newest[logger] = std::max(newest[logger], ring->position().sequence);
  }
  for (std::uint32_t logger = 0; logger < last.loggers; ++logger)
    last.segments[logger].first = std::max(last.segments[logger].first, newest[logger]);
  return recent;
}

/// Raises the greatest epoch to the last one that a transaction in the part that was left out may have. In each
/// logger's log, that part ends before the first marker that was read.
void count_what_was_left_out(LogScan& scan) {
  std::optional<std::uint32_t> seen;
  for (const LogSegment& segment : scan.segments) {
    if (segment.name.logger == seen) continue;
    seen = segment.name.logger;
    if (segment.name.sequence == 0 || !segment.complete_first) continue;
    scan.greatest_epoch = std::max(scan.greatest_epoch, *segment.complete_first + log::kAheadOfMarker);
  }
}

/// Adds to the message what to do about damaged rings, if they are this database's.
Status with_mend(const Status& status, const Manifest& manifest, const Settled& settled) {
  if (status.code() != StatusCode::kDamaged || !settled.check_ring_owner().ok()) return status;
  return {StatusCode::kDamaged,
          fmt::format("{}; to go on without the rings in '{}', open with --salvage (Options::salvage), which gives up "
                      "transactions that only they have",
                      status.message(), manifest.reliable_directory)};
}

}  // namespace

Result<LogSurvey> survey_recent_log(base::FileSystem& files, const Manifest& manifest, const Settled& settled,
                                    const ScanOptions& options) {
  if (manifest.generations.empty()) return survey_log(files, manifest, settled, options);
  const auto rings = settled.rings();
  if (!rings.ok()) return rings.status();
  auto survey = survey_log(files, recent_part(manifest, *rings), settled, options);
  if (!survey.ok()) return survey;
  survey->whole = false;
  count_what_was_left_out(survey->scan);
  return survey;
}

Result<LogSurvey> survey_log(base::FileSystem& files, const Manifest& manifest, const Settled& settled,
                             const ScanOptions& options) {
  LogSurvey survey;
  // A manifest without generations is of a first opening that did not come to its end, or an old copy: then the scan
  // finds a log that it does not know.
  auto scan = scan_logs(files, manifest, options);
  if (!scan.ok()) return scan.status();
  if (manifest.generations.empty()) return survey;
  survey.scan = std::move(*scan);
  if (const Status checked = check_ring_directory(manifest); !checked.ok()) return checked;
  auto rings = whole_rings(manifest, settled);
  if (options.salvage && rings.status().code() == StatusCode::kDamaged && settled.check_ring_owner().ok()) {
    // Rings count only together: without one of them it is not known what the log lacks beyond D.
    const epoch::Epoch first = survey.scan.durable + 1;
    survey.scan.losses.push_back({manifest.reliable_directory, 0, 0, first, std::max(survey.scan.greatest_epoch, first),
                                  rings.status().message()});
    return survey;
  }
  if (!rings.ok()) return with_mend(rings.status(), manifest, settled);
  survey.rings = std::move(*rings);
  const auto in_rings = greatest_epoch(survey.rings.entries());
  if (!in_rings.ok()) return in_rings.status();
  survey.scan.greatest_epoch = std::max(survey.scan.greatest_epoch, *in_rings);
  if (manifest.generations.back().cut)
    return survey;  // nothing was written after the end, and the manifest says how far the log went
  for (const auto& ring : survey.rings.rings) {
    if (const Status fits = check_position(*ring, manifest, options.salvage, survey.scan); !fits.ok()) return fits;
  }
  return survey;
}

}  // namespace granary::recovery
