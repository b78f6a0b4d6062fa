#pragma once
// A database directory while a tool looks at it. No other process has it open meanwhile, and nothing in it changes.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <granary/status.h>

#include "recovery/log_scan.h"
#include "bench/harness/flags.h"
#include "recovery/manifest.h"
#include "recovery/survey.h"
#include "src/base/file.h"

namespace granary::cli {

struct InspectedDatabase {
  std::string directory;  ///< canonical
  /// The locks are shared ones, so that several tools may look at a database, also on a read-only file system. There is
  /// none where there is no LOCK file, because then no process can hold it.
  std::vector<std::shared_ptr<void>> locks;
  recovery::Manifest manifest;
  recovery::Settled settled;  ///< set by settle()
  /// Called with the bytes of each segment and checkpoint block that was read, by any thread. May be empty.
  std::function<void(std::uint64_t bytes)> progress;

  /// Opens the directory. kNotFound if there is no database, kUnavailable if a process has it open.
  static Result<InspectedDatabase> open(const std::string& directory);

  /// Finds out to which databases the log directories in the manifest belong, and locks them; `wishes` are those of the
  /// command line. Tells on standard error if the database is a copy. Precondition of the functions below.
  Status settle(const recovery::Wishes& wishes);

  /// Returns the table's name, such as "accounts", or "table 7" if the manifest does not know it.
  std::string table_name(std::uint32_t id) const;
  /// Whether a node of a cluster wrote the database: its file MEMBER says so, or if that is missing, its manifest.
  bool of_node() const;
  /// Scans the logs as an opening would. For a cluster's node it also scans the segments that only other nodes may
  /// still need.
  Result<recovery::LogScan> scan(bool salvage) const;
  /// Scans the logs like scan(), and the rings as well.
  Result<recovery::LogSurvey> survey(bool salvage) const;

 private:
  Status lock(const std::string& directory);
  Status lock_rings();
  recovery::ScanOptions scan_options(bool salvage) const;
  Status add_kept_log(bool salvage, recovery::LogScan& scan) const;
};

/// Returns the database in `directory`, settled by the flags below. Commands that read logs begin with it.
Result<InspectedDatabase> open_with_logs(const std::string& directory, const bench::FlagValues& flags);
/// Returns the flag --log_dirs, for copies of log directories outside of the database's.
bench::Flag log_dirs_flag();
recovery::Wishes wishes_from(const bench::FlagValues& flags);

/// One segment file of the log directories.
struct SegmentFile {
  recovery::SegmentName name;
  std::string path;
};
/// Returns all segment files by generation, logger and sequence, whether they count or not.
Result<std::vector<SegmentFile>> segment_files(const recovery::Manifest& manifest);

}  // namespace granary::cli
