#pragma once
// Copies a database at rest into one directory: the part of its log that counts, its checkpoint, and a manifest that
// names no place. So the copy can be opened, or copied again, anywhere.

#include <functional>
#include <string>
#include <vector>

#include <granary/status.h>

#include "recovery/log_scan.h"
#include "recovery/manifest.h"
#include "src/base/file.h"

namespace granary::recovery {

struct BackupFigures {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

/// Is called with the bytes that have been written, and the bytes of all. Returns whether to go on. If it returns
/// false, the backup fails with kUnavailable.
using BackupProgress = std::function<bool(std::uint64_t done, std::uint64_t all)>;

/// Returns kAlreadyExists if a backup cannot be written to the directory `to`, since it is neither missing nor empty.
Status check_backup_target(base::FileSystem& files, const std::string& to);

/// Copies the database in `directory`, whose manifest and scan are given, to the directory `to`, which must pass
/// check_backup_target(). `also` are names of further files in the directory, which are copied if they are there. No
/// process has the database open. Every file is synced, read again, from the device as far as the system can do that,
/// and compared with the bytes that were written. The manifest comes last, so a backup that was cut short is no
/// database. After an error nothing of the backup is left, as far as it can be removed; a directory that was there
/// before stays, and so do files of other processes. While it writes, it holds the lock of a database's directory on
/// `to`.
Result<BackupFigures> write_backup(base::FileSystem& files, const std::string& directory, const Manifest& manifest,
                                   const LogScan& scan, const std::vector<std::string>& also, const std::string& to,
                                   const BackupProgress& progress);

}  // namespace granary::recovery
