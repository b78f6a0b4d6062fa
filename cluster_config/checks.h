#pragma once
// What must hold of the nodes of a cluster file together.

#include <string>

#include "cluster_config/config.h"
#include "cluster_config/problems.h"

namespace granary::cluster_config {

/// No id, place or directory belongs to two nodes, and the kinds of membership and provider fit the hosts.
void check_nodes(const ClusterConfig& config, Problems& problems);

/// "host:port".
bool is_place(const std::string& text);
/// An IP address that one host can have.
bool is_own_address(const std::string& text);

}  // namespace granary::cluster_config
