#pragma once
// The reader and the node whose table it searches: another process, or, where a node can connect to itself, the reader.

#include "bench/remote/owner.h"

namespace granary::bench::remote {

struct Nodes {
  std::unique_ptr<OwnerProcess> process;  ///< none if the reader is the owner
  std::unique_ptr<OwnedTable> own;        ///< none unless the reader is the owner
  std::unique_ptr<memory::Region> buffers;
  std::unique_ptr<rdma::Fabric> fabric;
  std::unique_ptr<rdma::Endpoint> endpoint;
  Tables tables;
};

/// Starts the owner, which makes its tables.
Result<Nodes> open_nodes(cluster_config::Provider provider, const Data& data, const std::string& run_directory);
/// Gives the reader its buffers and lets it be reached.
Status listen(Nodes& nodes, std::uint64_t buffer_bytes);

}  // namespace granary::bench::remote
