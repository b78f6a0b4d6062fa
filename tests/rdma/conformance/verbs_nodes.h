#pragma once
// Nodes on RDMA devices: where they listen.

#include <cstdlib>
#include <string>

#include "rdma/verbs/options.h"

namespace granary::rdma::conformance {

/// What scripts/verbs_vm.sh sets; "" if not.
inline std::string machine_setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Options of a node on this machine's device. With two machines node 1, the test's, is on the first, its peers on the
/// second.
inline verbs::VerbsOptions verbs_options(const NodeOptions& node) {
  constexpr std::uint16_t kServices = 20000;
  const std::string here = machine_setting("VM_ADDRESS");
  const std::string there = machine_setting("VM_PEER");
  const bool first = machine_setting("VM") != "1";
  verbs::VerbsOptions options;
  options.node = node;
  options.service = static_cast<std::uint16_t>(kServices + node.node);
  options.tolerate_swap_stores = true;
  options.address = here;
  for (NodeId peer = 1; peer < 10; ++peer) {
    const std::string& address = (peer == 1) == first ? here : there;
    options.peers.push_back({peer, address, static_cast<std::uint16_t>(kServices + peer)});
  }
  return options;
}

}  // namespace granary::rdma::conformance
