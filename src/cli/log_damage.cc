#include "src/cli/log_damage.h"

#include <fmt/format.h>

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
  // As opening does it; and only if that finds damage again, to find all of it and not only the first.
  auto scan = database.scan(/*salvage=*/false);
  const Status first = scan.status();
  if (!scan.ok() && first.code() == StatusCode::kDamaged) {
    scan = database.scan(/*salvage=*/true);
    if (scan.ok()) {
      for (const recovery::Loss& loss : scan->losses) report.damages.push_back(text_of(loss));
    }
    if (report.damages.empty()) report.damages.push_back(first.message());
    if (!scan.ok()) return report;  // beyond salvage: wrong files, not wrong bytes
  }
  if (!scan.ok()) return first;
  report.scan = std::move(*scan);
  auto rings = database.settled.rings();
  if (!rings.ok() && rings.status().code() != StatusCode::kDamaged) return rings.status();
  if (rings.ok()) {
    report.rings = std::move(*rings);
  } else {
    report.damages.push_back(rings.status().message());
  }
  auto replay = preview_replay(database, report.scan, report.rings.entries(), /*salvaged=*/!first.ok());
  if (!replay.ok()) return replay.status();
  report.replay = std::move(*replay);
  report.damages.insert(report.damages.end(), report.replay.damages.begin(), report.replay.damages.end());
  return report;
}

}  // namespace granary::cli
