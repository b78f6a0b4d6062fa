#pragma once
// Nodes on one RDMA device: where they listen.

#include <cstdlib>

#include "rdma/verbs/options.h"

namespace granary::rdma::conformance {

/// Options of a node on the machine's device; all nodes of the suite are on it.
inline verbs::VerbsOptions verbs_options(const NodeOptions& node) {
  constexpr std::uint16_t kServices = 20000;
  const char* address = std::getenv("VM_ADDRESS");  // scripts/verbs_vm.sh sets it
  verbs::VerbsOptions options;
  options.node = node;
  options.service = static_cast<std::uint16_t>(kServices + node.node);
  options.tolerate_swap_stores = true;
  options.address = address != nullptr ? address : "";
  for (NodeId peer = 1; peer < 10; ++peer) {
    options.peers.push_back({peer, options.address, static_cast<std::uint16_t>(kServices + peer)});
  }
  return options;
}

}  // namespace granary::rdma::conformance
