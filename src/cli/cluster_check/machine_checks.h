#pragma once
// Whether a machine has what the nodes on it need. Of plain values, so that tests can check machines that there are
// none of.

#include <span>

#include "src/cli/cluster_check/finding.h"
#include "src/cli/cluster_check/machine.h"

namespace granary::cluster_check {

/// How a user gets rid of the limit of locked memory.
inline constexpr const char* kMendLockLimit =
    "'memlock unlimited' in /etc/security/limits.d, then log in again (docs/rdma.md)";

/// Memory, huge pages, locked memory, CPUs, NUMA nodes; with RDMA devices also those and the nodes' addresses.
Findings check_machine(const cluster_config::ClusterConfig& config, std::span<const cluster_config::NodeConfig> here,
                       const Machine& machine);

}  // namespace granary::cluster_check
