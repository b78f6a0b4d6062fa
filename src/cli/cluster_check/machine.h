#pragma once
// What matters of this machine to nodes that shall run on it, as plain values.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cluster_config/config.h"
#include "rdma/verbs/device.h"

namespace granary::cluster_check {

struct Machine {
  std::string host_name;
  std::set<std::string> addresses;  ///< of its network devices
  std::set<std::uint32_t> cpus;     ///< that this process may use
  std::set<int> numa_nodes;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_huge_pages = 0;   ///< of 2 MiB
  std::uint64_t lock_limit_bytes = 0;  ///< RLIMIT_MEMLOCK; the greatest number if there is none
  std::vector<rdma::verbs::DeviceFacts> devices;
};

/// RDMA devices are asked only if `with_devices`.
Machine this_machine(bool with_devices);

/// The nodes of the file that run on this machine: by host name, by "localhost", or by address.
std::vector<cluster_config::NodeConfig> nodes_here(const cluster_config::ClusterConfig& config, const Machine& machine);

}  // namespace granary::cluster_check
