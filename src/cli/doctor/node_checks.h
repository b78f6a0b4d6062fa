#pragma once
// Checks a host for the nodes of a cluster file, beyond what `granary cluster check` looks at. It looks at the disks
// under the nodes' directories, measures how fast a small write becomes durable, for which a commit waits, and looks at
// the nodes' TCP ports.

#include <span>
#include <string>

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"
#include "src/cli/doctor/host.h"

namespace granary::doctor {

/// Returns what a file system of this type means for a database's files.
cluster_check::Finding judge_file_system(const std::string& subject, const std::string& path, const FileSystem& disk);

/// Checks the directories for data and logs of each node. Writes to a file without a name, which leaves nothing, for
/// two seconds at most for each directory.
cluster_check::Findings check_disks(std::span<const cluster_config::NodeConfig> here);

/// Checks whether a process can listen at the addresses where nodes answer by HTTP.
cluster_check::Findings check_ports(std::span<const cluster_config::NodeConfig> here);

}  // namespace granary::doctor
