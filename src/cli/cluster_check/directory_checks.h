#pragma once
// Whether the files and directories that a cluster file names can be used, and by nobody else where that matters.

#include <span>
#include <string>

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// The key, the run directory, the directories and HTTP tokens of the nodes here. Changes nothing.
Findings check_directories(const cluster_config::ClusterConfig& config,
                           std::span<const cluster_config::NodeConfig> here);

/// The path of a directory itself, or of the lowest one above it that is there.
std::string existing_directory(const std::string& directory);

}  // namespace granary::cluster_check
