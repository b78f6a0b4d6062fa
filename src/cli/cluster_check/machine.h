#pragma once
// What matters of this machine to nodes that shall run on it, as plain values.

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "cluster_config/config.h"
#include "rdma/verbs/device.h"

namespace granary::cluster_check {

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The limits that the system sets a process; kNoLimit where it sets none.
struct ProcessLimits {
  std::uint64_t address_bytes = kNoLimit;  ///< RLIMIT_AS
  std::uint64_t threads = kNoLimit;        ///< RLIMIT_NPROC: of all processes of the user together
  std::uint64_t files = kNoLimit;          ///< RLIMIT_NOFILE
};

struct Machine {
  std::string host_name;
  std::set<std::string> addresses;  ///< of its network devices
  std::set<std::uint32_t> cpus;     ///< that this process may use
  std::set<int> numa_nodes;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_huge_pages = 0;   ///< of 2 MiB
  std::uint64_t lock_limit_bytes = 0;  ///< RLIMIT_MEMLOCK; kNoLimit if there is none
  ProcessLimits limits;
  bool logout_removes_rings = false;  ///< of this user, from /dev/shm (logout.h)
  std::vector<rdma::verbs::DeviceFacts> devices;
};

/// RDMA devices are asked only if `with_devices`.
Machine this_machine(bool with_devices);

/// The nodes of the file that run on this machine: by host name, by "localhost", or by address.
std::vector<cluster_config::NodeConfig> nodes_here(const cluster_config::ClusterConfig& config, const Machine& machine);

}  // namespace granary::cluster_check
