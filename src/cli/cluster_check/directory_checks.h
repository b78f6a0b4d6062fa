#pragma once
// Whether the files and directories that a cluster file names can be used, and by nobody else where that matters.

#include <span>

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// The key, the run directory, the directories of the nodes here. Changes nothing.
Findings check_directories(const cluster_config::ClusterConfig& config,
                           std::span<const cluster_config::NodeConfig> here);

}  // namespace granary::cluster_check
