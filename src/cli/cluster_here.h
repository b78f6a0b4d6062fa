#pragma once
// A cluster file and the part of it that this machine is to run, for the commands that check both.

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/exit_code.h"
#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"
#include "src/cli/cluster_check/machine.h"

namespace granary::cli {

struct ClusterHere {
  cluster_config::ClusterConfig config;
  cluster_check::Machine machine;
  std::vector<cluster_config::NodeConfig> here;  ///< the nodes to look at
};

/// Reads the file and finds out which of its nodes run here; with an `id` other than 0 takes that node. If anything is
/// wrong with the file, prints it on standard error, and the exit code says whose fault it is.
bench::ExitCode read_cluster(const std::string& file, std::uint16_t id, ClusterHere& cluster);

/// Makes all checks of `granary cluster check`.
cluster_check::Findings findings_of(const ClusterHere& cluster);

}  // namespace granary::cli
