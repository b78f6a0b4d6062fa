#pragma once
// Whether what nodes need beside themselves answers: other hosts, the clock, ZooKeeper.

#include <span>
#include <string>

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// Asks all of them at the same time, and waits for a second at most for what does not answer.
Findings check_services(const cluster_config::ClusterConfig& config);

/// Returns why the membership cannot be asked, which is in ZooKeeper and needs a majority of its servers; "" if it can
/// be. `services` are what check_services found.
std::string why_no_membership(std::span<const Finding> services);

}  // namespace granary::cluster_check
