#pragma once
// Two nodes of the fabric that is measured. Over `verbs` they are one, which reaches itself through its device.

#include <memory>
#include <string>

#include <granary/status.h>

#include "rdma/fabric.h"

namespace granary::bench::fabric {

struct Nodes {
  std::unique_ptr<memory::Region> there;  ///< what is reached
  std::unique_ptr<memory::Region> here;   ///< buffers
  std::unique_ptr<rdma::Fabric> target;   ///< of `there`; not set where it is `fabric` itself
  std::unique_ptr<rdma::Fabric> fabric;
  std::unique_ptr<rdma::Endpoint> endpoint;
  rdma::ConnectionId connection = 0;
  rdma::RemoteAddress first;                 ///< of `there`
  std::unique_ptr<rdma::Endpoint> answerer;  ///< of the node that is reached
  rdma::ConnectionId back = 0;               ///< from it to the node of `endpoint`
};

/// `provider` is "shm", whose nodes meet in the run directory, or "verbs".
Result<Nodes> open_nodes(const std::string& provider, std::uint64_t region_bytes, std::uint64_t buffer_bytes,
                         const std::string& run_directory);

}  // namespace granary::bench::fabric
