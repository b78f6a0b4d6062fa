#include "src/cli/log_damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "cluster_config/membership/life.h"
#include "src/db/member_file.h"

namespace granary::cli {

std::string text_of(const recovery::DroppedTail& tail) {
  return fmt::format("'{}', offset {}: {} bytes to be cut off: {}", tail.path, tail.offset, tail.bytes, tail.cause);
}

std::string text_of(const recovery::Loss& loss) {
  return fmt::format("'{}', offset {}: {}; transactions of epochs {} to {} may be lost", loss.path, loss.offset,
                     loss.cause, loss.first_epoch, loss.last_epoch);
}

Result<LogReport> examine_logs(const InspectedDatabase& database) {
  LogReport report;
  // The first survey is that of an opening. Only if it finds damage is there another one, which finds all damage and
  // not only the first.
  auto survey = database.survey(/*salvage=*/false);
  const Status first = survey.status();
  if (first.code() == StatusCode::kDamaged || first.code() == StatusCode::kIoError) {
    survey = database.survey(/*salvage=*/true);
    // A device that gives back not even the names of the files, or their sizes, tells nothing.
    if (survey.status().code() == StatusCode::kIoError) return survey.status();
    if (survey.ok()) {
      for (const recovery::Loss& loss : survey->scan.losses) report.damages.push_back(text_of(loss));
    }
    if (report.damages.empty()) report.damages.push_back(first.message());
    report.beyond_salvage = !survey.ok();
    if (report.beyond_salvage) return report;
  }
  if (!survey.ok()) return first;
  const Status member = db::check_member_file(base::system_files(), database.directory, database.manifest);
  if (!member.ok() && member.code() != StatusCode::kDamaged) return member;
  if (!member.ok()) {
    // A salvage goes on without a MEMBER that is missing or older, but does not guess what a damaged one has said.
    report.beyond_salvage = !membership::read_any_life(base::system_files(), database.directory).ok();
    report.damages.push_back(member.message());
  }
  report.scan = std::move(survey->scan);
  report.rings = std::move(survey->rings);
  auto replay = preview_replay(database, report.scan, report.rings.entries(), /*salvaged=*/!first.ok());
  if (!replay.ok()) return replay.status();
  report.replay = std::move(*replay);
  report.damages.insert(report.damages.end(), report.replay.damages.begin(), report.replay.damages.end());
  return report;
}

std::optional<recovery::checkpoint::ReadOptions> checkpoint_of(const InspectedDatabase& database) {
  const auto& checkpoint = database.manifest.checkpoint;
  if (!checkpoint) return std::nullopt;
  return recovery::checkpoint::ReadOptions{.files = &base::system_files(),
                                           .directory = database.directory + "/" + checkpoint->directory,
                                           .database = database.manifest.database,
                                           .epoch = checkpoint->epoch,
                                           .stamp = checkpoint->stamp,
                                           .progress = database.progress};
}

Result<std::string> examine_checkpoint(const InspectedDatabase& database) {
  const auto read = checkpoint_of(database);
  if (!read) return std::string();
  const auto contents =
      recovery::checkpoint::verify_checkpoint(*read, std::max(1u, std::thread::hardware_concurrency()));
  if (contents.status().code() == StatusCode::kDamaged) return contents.status().message();
  if (!contents.ok()) return contents.status();
  const auto& tables = contents->tables;
  if (tables.empty() || tables.rbegin()->first < database.manifest.tables.size()) return std::string();
  return fmt::format("checkpoint '{}': records of table {}, which the manifest does not know", read->directory,
                     tables.rbegin()->first);
}

}  // namespace granary::cli
