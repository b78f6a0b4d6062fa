#pragma once
// The directories of the nodes of a run that loads its data anew in each repeat: empty before the run, and emptied
// after each repeat. So nothing is ever removed that the run has not made.

#include <string>
#include <vector>

#include <granary/status.h>

#include "cluster_config/config.h"

namespace granary::bench::cluster {

/// Where the nodes keep data and logs.
std::vector<std::string> directories_of(const cluster_config::ClusterConfig& config);

/// kFailedPrecondition names one that holds anything. One that is not there is empty.
Status check_empty(const std::vector<std::string>& directories);

/// Removes what they hold. Precondition: check_empty() found nothing before the nodes were started. kUnavailable names
/// what stays.
Status empty(const std::vector<std::string>& directories);

}  // namespace granary::bench::cluster
