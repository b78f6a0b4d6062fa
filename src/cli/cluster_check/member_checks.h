#pragma once
// Checks whether nodes of the cluster that run already would let in nodes of this program.

#include <cstdint>

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// Looks at the board where members meet, and changes nothing there. Finds nothing if no node runs. `protocol` is that
/// of this program (src/node/cluster_protocol.h). Precondition: the cluster's board answers.
Findings check_members(const cluster_config::ClusterConfig& config, std::uint64_t protocol);

}  // namespace granary::cluster_check
