#pragma once
// Protects a database from being taken away from its user. All that a process writes is closed to other users
// (base::kNewFileMode), and root may write everywhere. So a database that root opens once is lost to its user.

#include <string>
#include <string_view>

#include <granary/status.h>

#include "src/base/file.h"

namespace granary::recovery {

/// Returns kFailedPrecondition, with a command that runs as the right user, if this process is root's and the database
/// in `directory` is another user's, as its manifest shows. Returns OK if there is no database, or if files that this
/// process makes become that user's anyway, as on some network file systems. Other users need no check, as the system
/// refuses them.
Status check_user(base::FileSystem& files, const std::string& directory);

/// Whether check_user() has made a file of this name. One that a killed process has left may be removed by whoever has
/// locked the directory.
bool is_probe_name(std::string_view name);

}  // namespace granary::recovery
