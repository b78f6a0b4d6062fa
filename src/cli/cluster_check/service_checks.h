#pragma once
// Checks that the services which nodes need answer: other hosts, the clock, ZooKeeper.

#include <span>
#include <string>

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// Asks all services at the same time, and waits for a second at most.
Findings check_services(const cluster_config::ClusterConfig& config);

/// Returns why the membership, which is in ZooKeeper, cannot be asked; "" if it can be, which takes a majority of the
/// servers. `services` are the findings of check_services().
std::string why_no_membership(std::span<const Finding> services);

}  // namespace granary::cluster_check
