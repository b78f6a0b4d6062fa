#pragma once
// Whether what nodes need beside themselves answers: other hosts, the clock, ZooKeeper.

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// Takes at most a second for each host or server that does not answer.
Findings check_services(const cluster_config::ClusterConfig& config);

}  // namespace granary::cluster_check
