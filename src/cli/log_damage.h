#pragma once
// Finds everything that keeps a database from being recovered, one line each, for `granary log verify` and `granary
// recover --dry-run`. The checks are those of an opening, by the same code: recovery::survey_log and the checkpoint's
// reader.

#include <optional>
#include <string>
#include <vector>

#include "recovery/checkpoint/reader.h"
#include "recovery/survey.h"
#include "src/cli/replay_preview.h"

namespace granary::cli {

struct LogReport {
  recovery::LogScan scan;
  recovery::SurvivingRings rings;
  ReplayPreview replay;
  std::vector<std::string> damages;  ///< with file, offset and cause; an opening would refuse unless it is empty
  /// Whether an opening with salvage would refuse as well, since a file is of another database or in the wrong place.
  /// The other members may be empty then.
  bool beyond_salvage = false;
};

/// Examines the logs. An error means that they could not be read.
Result<LogReport> examine_logs(const InspectedDatabase& database);

/// Returns how `database`'s checkpoint is read when it is opened; none if it has no checkpoint.
std::optional<recovery::checkpoint::ReadOptions> checkpoint_of(const InspectedDatabase& database);

/// Reads all parts of the current checkpoint. Returns what an opening would refuse in them; "" if that is nothing. An
/// error means that they could not be read.
Result<std::string> examine_checkpoint(const InspectedDatabase& database);

/// Returns "'F', offset 80: 17 bytes to be cut off: cause".
std::string text_of(const recovery::DroppedTail& tail);
/// Returns "'F', offset 80: cause; transactions of epochs 3 to 5 may be lost".
std::string text_of(const recovery::Loss& loss);

}  // namespace granary::cli
