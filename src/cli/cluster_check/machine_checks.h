#pragma once
// Checks that a machine has what the nodes on it need. The machine is a plain value, so that tests can check machines
// of every kind.

#include <span>

#include "src/cli/cluster_check/finding.h"
#include "src/cli/cluster_check/machine.h"

namespace granary::cluster_check {

/// The way for a user to get rid of the limit of locked memory.
inline constexpr const char* kMendLockLimit =
    "'memlock unlimited' in /etc/security/limits.d, then log in again (docs/rdma.md)";

/// Checks memory, huge pages, locked memory, CPUs and NUMA nodes; with RDMA devices also these and the nodes'
/// addresses.
Findings check_machine(const cluster_config::ClusterConfig& config, std::span<const cluster_config::NodeConfig> here,
                       const Machine& machine);

}  // namespace granary::cluster_check
