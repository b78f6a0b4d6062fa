#pragma once
// Everything that keeps a database's logs from being recovered, one line each: the check of `granary log verify` and of
// `granary recover --dry-run`.

#include <string>
#include <vector>

#include "recovery/surviving_rings.h"
#include "src/cli/replay_preview.h"

namespace granary::cli {

struct LogReport {
  recovery::LogScan scan;
  recovery::SurvivingRings rings;
  ReplayPreview replay;
  std::vector<std::string> damages;  ///< with file, offset and cause; opening would refuse. Empty: it would not
};

/// An error is one of reading.
Result<LogReport> examine_logs(const InspectedDatabase& database);

/// "cut off 17 bytes at the end of 'F', from offset 80 on: cause".
std::string text_of(const recovery::DroppedTail& tail);
/// "'F', offset 80: cause; transactions of epochs 3 to 5 may be lost".
std::string text_of(const recovery::Loss& loss);

}  // namespace granary::cli
