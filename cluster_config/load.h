#pragma once
// Reads a cluster file.

#include <string>

#include "cluster_config/config.h"
#include "cluster_config/problems.h"

namespace granary::cluster_config {

/// The greatest number of bytes of a cluster file.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 20;

/// Returns the file's values. Returns kInvalidArgument with file, line and mend if the file has a problem or cannot be
/// read.
Result<ClusterConfig> load(const std::string& path);

/// Returns the file's values and adds all problems to `problems`. An error is one of reading.
Result<ClusterConfig> examine(const std::string& path, Problems& problems);

}  // namespace granary::cluster_config
