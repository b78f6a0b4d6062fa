#pragma once
// Says what a node takes of its machine beside the memory of its database.

#include <algorithm>
#include <cstdint>

#include "cluster_config/config.h"
#include "src/cluster/messages/layout.h"

namespace granary::db {

/// Returns how many of the node's workers ask other nodes: those of the application, as many that run calls, the
/// survivor's, and the node's own.
constexpr std::uint32_t asking_workers(std::uint32_t workers) { return 2 * workers + 2; }

/// Returns for how many workers of each node there are mailboxes.
inline std::uint32_t most_asking_workers(const cluster_config::ClusterConfig& config) {
  std::uint32_t most = 0;
  for (const cluster_config::NodeConfig& node : config.nodes) most = std::max(most, node.workers);
  return asking_workers(most);
}

/// Returns how much registered memory the mailboxes of a node take.
inline std::uint64_t mailbox_bytes(const cluster_config::ClusterConfig& config) {
  const cluster::messages::MailboxLayout layout{.nodes = static_cast<rdma::NodeId>(config.nodes.size()),
                                                .workers = most_asking_workers(config)};
  return layout.region_bytes();
}

/// Returns how much registered memory a node has for the operations of its workers, and of one more, as a reserve.
constexpr std::uint64_t buffer_bytes(const cluster_config::NodeConfig& node) {
  constexpr std::uint64_t kOfWorker = std::uint64_t{4} << 20;
  return kOfWorker * (asking_workers(node.workers) + std::uint64_t{1});
}

/// Returns how many endpoints the node has at the same time: one for each of these workers, one for its service, and
/// one while it leads.
constexpr std::uint32_t endpoints_of(const cluster_config::NodeConfig& node) {
  return asking_workers(node.workers) + 2;
}

}  // namespace granary::db
