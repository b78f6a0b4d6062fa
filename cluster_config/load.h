#pragma once
// Reads a cluster file.

#include <string>

#include "cluster_config/config.h"
#include "cluster_config/problems.h"

namespace granary::cluster_config {

/// Bytes that a cluster file may have.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 20;

/// The file's values; kInvalidArgument with file, line and mend if it has a problem or cannot be read.
Result<ClusterConfig> load(const std::string& path);

/// The same for whoever wants all problems; an error is one of reading.
Result<ClusterConfig> examine(const std::string& path, Problems& problems);

}  // namespace granary::cluster_config
