#pragma once
// Whether what nodes need beside themselves answers: other hosts, the clock, ZooKeeper.

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// Asks all of them at the same time, and waits for a second at most for what does not answer.
Findings check_services(const cluster_config::ClusterConfig& config);

}  // namespace granary::cluster_check
