#pragma once
// A database directory while a tool looks at it: nobody else has it open meanwhile, and nothing in it changes.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <granary/status.h>

#include "recovery/log_scan.h"
#include "recovery/manifest.h"
#include "src/base/file.h"

namespace granary::cli {

struct InspectedDatabase {
  std::string directory;
  std::unique_ptr<base::File> lock;  ///< none if the directory has no LOCK file, so that nobody can hold it
  recovery::Manifest manifest;

  /// kNotFound if there is no database, kUnavailable if a process has it open.
  static Result<InspectedDatabase> open(const std::string& directory);

  /// "accounts", or "table 7" if the manifest does not know it.
  std::string table_name(std::uint32_t id) const;
  /// The scan of its logs that opening would do.
  Result<recovery::LogScan> scan(bool salvage) const;
};

/// One segment file of the log directories.
struct SegmentFile {
  recovery::SegmentName name;
  std::string path;
};
/// All of them, by generation, logger and sequence, whether they count or not.
Result<std::vector<SegmentFile>> segment_files(const recovery::Manifest& manifest);

}  // namespace granary::cli
