#pragma once
// The two nodes of the fabric that is measured. Where a node can connect to itself, both are one.

#include <memory>
#include <string>

#include <granary/status.h>

#include "cluster_config/provider.h"
#include "rdma/fabric.h"
#include "src/memory/region.h"

namespace granary::bench::fabric {

struct Nodes {
  std::unique_ptr<memory::Region> there;  ///< the memory that is reached
  std::unique_ptr<memory::Region> here;   ///< buffers
  std::unique_ptr<rdma::Fabric> target;   ///< the fabric of `there`; not set where it is `fabric` itself
  std::unique_ptr<rdma::Fabric> fabric;
  std::unique_ptr<rdma::Endpoint> endpoint;
  rdma::ConnectionId connection = 0;
  rdma::RemoteAddress first;                 ///< the address of `there`
  std::unique_ptr<rdma::Endpoint> answerer;  ///< the endpoint of the node that is reached
  rdma::ConnectionId back = 0;               ///< the connection from it to the node of `endpoint`
};

Result<Nodes> open_nodes(cluster_config::Provider provider, std::uint64_t region_bytes, std::uint64_t buffer_bytes,
                         const std::string& run_directory);

}  // namespace granary::bench::fabric
