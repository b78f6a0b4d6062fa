#pragma once
// Checks that the files and directories that a cluster file names can be used, and that nobody else can use those that
// are secret.

#include <span>
#include <string>

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// Checks the key, the run directory, and the directories and HTTP tokens of the nodes here. Changes nothing.
Findings check_directories(const cluster_config::ClusterConfig& config,
                           std::span<const cluster_config::NodeConfig> here);

/// Returns the path of a directory, or of the lowest directory above it that exists.
std::string existing_directory(const std::string& directory);

}  // namespace granary::cluster_check
