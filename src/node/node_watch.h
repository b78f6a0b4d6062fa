#pragma once
// Begins the service by which a node tells of itself by HTTP, at the address in the cluster file (docs/monitoring.md).

#include <cstdint>
#include <functional>
#include <memory>

#include <granary/status.h>

#include "cluster_config/config.h"
#include "src/watch/node_report.h"
#include "src/watch/service.h"

namespace granary::db {

/// Begins to serve what `look` sees. Returns nullptr if the cluster file gives the node no address, and an error if its
/// token cannot be read or the address cannot be listened at.
Result<std::unique_ptr<watch::Service>> watch_node(const cluster_config::ClusterConfig& config,
                                                   const cluster_config::NodeConfig& own,
                                                   std::function<watch::NodeReport()> look);

}  // namespace granary::db
