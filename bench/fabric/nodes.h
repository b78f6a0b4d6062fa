#pragma once
// Two nodes of the fabric that is measured. Where a node can connect to itself, both are one.

#include <memory>
#include <string>

#include <granary/status.h>

#include "cluster_config/provider.h"
#include "rdma/fabric.h"
#include "src/memory/region.h"

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

Result<Nodes> open_nodes(cluster_config::Provider provider, std::uint64_t region_bytes, std::uint64_t buffer_bytes,
                         const std::string& run_directory);

}  // namespace granary::bench::fabric
