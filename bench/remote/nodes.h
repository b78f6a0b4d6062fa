#pragma once
// The reader and the node whose table it searches: over shared memory another process. Over `verbs` it is the reader
// itself, which reaches itself through its device.

#include "bench/remote/owner.h"

namespace granary::bench::remote {

struct Nodes {
  std::unique_ptr<OwnerProcess> process;  ///< over shared memory
  std::unique_ptr<OwnedTable> own;        ///< over verbs
  std::unique_ptr<memory::Region> buffers;
  std::unique_ptr<rdma::Fabric> fabric;
  std::unique_ptr<rdma::Endpoint> endpoint;
  kvstore::remote::RemoteTable table;
};

/// Starts the owner, which makes its table; `provider` is "shm", whose nodes meet in the run directory, or "verbs".
Result<Nodes> open_nodes(const std::string& provider, const Data& data, const std::string& run_directory);
/// Gives the reader its buffers and lets it be reached.
Status listen(Nodes& nodes, std::uint64_t buffer_bytes);

}  // namespace granary::bench::remote
