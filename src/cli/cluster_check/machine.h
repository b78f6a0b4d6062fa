#pragma once
// Facts about this machine that matter to the nodes that shall run on it, as plain values.

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "cluster_config/config.h"
#include "rdma/verbs/device.h"

namespace granary::cluster_check {

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The limits of a process; kNoLimit where there is none.
struct ProcessLimits {
  std::uint64_t address_bytes = kNoLimit;  ///< RLIMIT_AS
  std::uint64_t threads = kNoLimit;        ///< RLIMIT_NPROC, for all processes of the user together
  std::uint64_t files = kNoLimit;          ///< RLIMIT_NOFILE
};

struct Machine {
  std::string host_name;
  std::set<std::string> addresses;  ///< the addresses of its network devices
  std::set<std::uint32_t> cpus;     ///< the CPUs that this process may use
  std::set<int> numa_nodes;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_huge_pages = 0;   ///< free huge pages of 2 MiB
  std::uint64_t lock_limit_bytes = 0;  ///< RLIMIT_MEMLOCK; kNoLimit if there is none
  ProcessLimits limits;
  bool logout_removes_rings = false;  ///< whether logind removes this user's files from /dev/shm (logout.h)
  std::vector<rdma::verbs::DeviceFacts> devices;
};

/// Looks at this machine; at its RDMA devices only if `with_devices`.
Machine this_machine(bool with_devices);

/// Returns the nodes of the file that run on this machine, found by host name, by "localhost", or by address.
std::vector<cluster_config::NodeConfig> nodes_here(const cluster_config::ClusterConfig& config, const Machine& machine);

}  // namespace granary::cluster_check
