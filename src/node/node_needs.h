#pragma once
// Says what a node takes of its machine beside the memory of its database.

#include <cstdint>

#include "cluster_config/config.h"

namespace granary::db {

/// Returns how many of the node's workers ask other nodes: those of the application, as many that run calls, the
/// survivor's, and the node's own.
constexpr std::uint32_t asking_workers(std::uint32_t workers) { return 2 * workers + 2; }

/// Returns how many endpoints the node has at the same time: one for each of these workers, one for its service, and
/// one while it leads.
constexpr std::uint32_t endpoints_of(const cluster_config::NodeConfig& node) {
  return asking_workers(node.workers) + 2;
}

}  // namespace granary::db
