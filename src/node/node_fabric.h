#pragma once
// Opens what a cluster file names: the node's fabric, and the board where members meet.

#include <functional>
#include <memory>

#include "cluster_config/config.h"
#include "cluster_config/membership/board.h"
#include "rdma/fabric.h"

namespace granary::db {

/// Opens a fabric of the file's provider, for the node's place in the file.
Result<std::unique_ptr<rdma::Fabric>> open_provider(const cluster_config::ClusterConfig& config,
                                                    const cluster_config::NodeConfig& node,
                                                    const rdma::NodeOptions& options);

/// Opens the fabric of a cluster's node, with the cluster's key and a fingerprint of what must be alike on all nodes.
Result<std::unique_ptr<rdma::Fabric>> open_fabric(const cluster_config::ClusterConfig& config,
                                                  const cluster_config::NodeConfig& node, rdma::Generation generation);

/// Makes the run directory if it is missing. It is private then, as the fabric requires it.
Status make_run_directory(const cluster_config::ClusterConfig& config);

/// Opens the board. When `give_up` returns true, it no longer waits for the board's servers, or for this node's former
/// mark there.
Result<std::unique_ptr<membership::Board>> open_board(
    const cluster_config::ClusterConfig& config, std::function<bool()> give_up = [] { return false; });

}  // namespace granary::db
