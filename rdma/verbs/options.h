#pragma once
// Says how a node uses RDMA devices.

#include <cstdint>
#include <string>
#include <vector>

#include "rdma/fabric.h"

namespace granary::rdma::verbs {

/// Says where a node listens: a host name or IP address on the RDMA network, and a port of rdma_cm's TCP-like port
/// space.
struct NodeAddress {
  NodeId node = 0;
  std::string host;
  std::uint16_t service = 18515;
};

struct VerbsOptions {
  NodeOptions node;
  std::string device;             ///< "mlx5_0", "rxe0"; empty: the first that can be used
  std::uint8_t port = 0;          ///< the port of the device, from 1; 0: the first that is active
  int gid_index = -1;             ///< RoCE: a version 2 GID with an IP address; -1: the first
  std::string address;            ///< own IP address; empty: that of the GID. InfiniBand needs it (IPoIB)
  std::uint16_t service = 18515;  ///< where this node listens
  std::vector<NodeAddress> peers;
  std::uint32_t outstanding = 128;  ///< operations of one connection, 2 to 4096; less if the device allows less
  std::uint32_t connections = 64;   ///< of one endpoint, 1 to 4096; a device that does not allow as many is refused
  /// Whether to take a device whose compare-and-swaps, when they fail, store back what they found (Soft-RoCE of Linux
  /// 6.1). They may undo a WRITE or store of the same word at the same moment. For tests in which no word is raced so.
  bool tolerate_swap_stores = false;
};

}  // namespace granary::rdma::verbs
