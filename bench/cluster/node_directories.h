#pragma once
// The directories of the nodes of a run that loads its data anew in each repeat. They must be empty before the run, and
// are emptied after each repeat, so that nothing is ever removed that the run has not made.

#include <string>
#include <vector>

#include <granary/status.h>

#include "cluster_config/config.h"

namespace granary::bench::cluster {

/// Returns the directories where the nodes keep data and logs.
std::vector<std::string> directories_of(const cluster_config::ClusterConfig& config);

/// Returns kFailedPrecondition with the name of a directory that is not empty. A missing directory is empty.
Status check_empty(const std::vector<std::string>& directories);

/// Removes the contents of the directories. Precondition: check_empty() found nothing before the nodes were started.
/// kUnavailable names files that stay.
Status empty(const std::vector<std::string>& directories);

}  // namespace granary::bench::cluster
