#pragma once
// What a node's place in a cluster file asks of its host, beyond what `granary cluster check` looks at: the disks below
// its directories, with how fast a small write becomes durable, which is what a commit waits for; and its TCP port.

#include <span>
#include <string>

#include "cluster_config/config.h"
#include "src/cli/cluster_check/finding.h"
#include "src/cli/doctor/host.h"

namespace granary::doctor {

/// What a file system of this type means for a database's files.
cluster_check::Finding judge_file_system(const std::string& subject, const std::string& path, const FileSystem& disk);

/// Looks at the directories for data and logs of each node. Writes to a file without a name, of which nothing is left,
/// for two seconds at most for each directory.
cluster_check::Findings check_disks(std::span<const cluster_config::NodeConfig> here);

/// Looks whether the addresses where nodes answer by HTTP can be listened at.
cluster_check::Findings check_ports(std::span<const cluster_config::NodeConfig> here);

}  // namespace granary::doctor
