#pragma once
// Opens what a cluster file names: the node's fabric, and the board where members meet.

#include <functional>
#include <memory>

#include "cluster_config/config.h"
#include "cluster_config/membership/board.h"
#include "rdma/fabric.h"

namespace granary::db {

/// A fabric of the file's provider, for the node's place in the file.
Result<std::unique_ptr<rdma::Fabric>> open_provider(const cluster_config::ClusterConfig& config,
                                                    const cluster_config::NodeConfig& node,
                                                    const rdma::NodeOptions& options);

/// The same for a node of a cluster, with the cluster's key and what must be alike on all nodes.
Result<std::unique_ptr<rdma::Fabric>> open_fabric(const cluster_config::ClusterConfig& config,
                                                  const cluster_config::NodeConfig& node, rdma::Generation generation);

/// If it is missing: private, as the fabric wants it.
Status make_run_directory(const cluster_config::ClusterConfig& config);

/// `give_up`: ends the waiting for the board's servers, or for this node's former mark there.
Result<std::unique_ptr<membership::Board>> open_board(
    const cluster_config::ClusterConfig& config, std::function<bool()> give_up = [] { return false; });

}  // namespace granary::db
