#pragma once
// Whether nodes of the cluster that run already would let in nodes of this program.

#include <cstdint>

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"

namespace granary::cluster_check {

/// Looks at the board where members meet, and changes nothing there; nothing is found if nobody runs. `protocol`: of
/// this program (src/node/cluster_protocol.h). For clusters whose board answers.
Findings check_members(const cluster_config::ClusterConfig& config, std::uint64_t protocol);

}  // namespace granary::cluster_check
