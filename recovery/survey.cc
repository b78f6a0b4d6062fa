#include "recovery/survey.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/private_directory.h"
#include "src/base/test_hooks.h"

namespace granary::recovery {
namespace {

/// Before anything in it is replayed or removed: whoever made it could have had this process do so with anything.
Status check_ring_directory(const Manifest& manifest) {
  if (manifest.reliable_directory.empty()) return {};
  const Status checked = base::check_private_directory(manifest.reliable_directory);
  return checked.code() == StatusCode::kNotFound ? Status() : checked;
}

std::string text_of(const log::Position& position, const Generation& generation, std::uint32_t logger) {
  return fmt::format("'{}', offset {}", log::segment_name(generation.number, logger, position.sequence),
                     position.offset);
}

/// The gap between the log's end and what the ring has. An error, or with salvage a loss.
Status check_position(const log::Ring& ring, const Manifest& manifest, bool salvage, LogScan& scan) {
  const Generation& generation = manifest.generations.back();
  const std::string path = manifest.reliable_directory + "/" + log::ring_name(ring.header().worker);
  const std::uint32_t logger = ring.header().logger;
  if (logger >= scan.ends.size()) {
    return {StatusCode::kDamaged, fmt::format("the log ring '{}' is of logger {}, but generation {} had {} loggers",
                                              path, logger, generation.number, generation.loggers)};
  }
  const ReadableEnd& end = scan.ends[logger];
  if (ring.position() <= end.position || base::injected(base::Bug::kIgnoreRingPosition)) return {};
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

}  // namespace

Result<LogSurvey> survey_log(base::FileSystem& files, const Manifest& manifest, const Settled& settled,
                             const ScanOptions& options) {
  LogSurvey survey;
  if (manifest.generations.empty()) return survey;
  auto scan = scan_logs(files, manifest, options);
  if (!scan.ok()) return scan.status();
  survey.scan = std::move(*scan);
  if (const Status checked = check_ring_directory(manifest); !checked.ok()) return checked;
  auto rings = settled.rings();
  if (!rings.ok()) return rings.status();
  survey.rings = std::move(*rings);
  const auto in_rings = greatest_epoch(survey.rings.entries());
  if (!in_rings.ok()) return in_rings.status();
  survey.scan.greatest_epoch = std::max(survey.scan.greatest_epoch, *in_rings);
  if (manifest.generations.back().cut)
    return survey;  // nothing was written after that, and the manifest says how far it went
  for (const auto& ring : survey.rings.rings) {
    if (const Status fits = check_position(*ring, manifest, options.salvage, survey.scan); !fits.ok()) return fits;
  }
  return survey;
}

}  // namespace granary::recovery
