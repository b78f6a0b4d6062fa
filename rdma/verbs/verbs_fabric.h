#pragma once
// Opens the fabric over RDMA devices: reliable connected queue pairs of libibverbs, set up by rdma_cm. docs/rdma.md
// tells how to set devices up. The devices do the operations, and the target's CPU takes no part.

#include <memory>

#include <granary/status.h>

#include "rdma/fabric.h"
#include "rdma/verbs/options.h"

namespace granary::rdma::verbs {

/// Chooses the device and takes the node's address on it. An error names the obstacle and what to do: no device, a port
/// that is down, a device without atomics, an address that another process has.
Result<std::unique_ptr<Fabric>> open_verbs_fabric(const VerbsOptions& options);

}  // namespace granary::rdma::verbs
