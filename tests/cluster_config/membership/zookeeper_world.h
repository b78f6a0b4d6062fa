#pragma once
// A ZooKeeper server of this program's own, which its cases share; each case has its own root there.

#include <string>

#include "cluster_config/membership/zookeeper/options.h"

namespace granary::membership::tests {

/// scripts/zookeeper.sh with this action on the server's directory; its exit code.
int zookeeper(const std::string& action);
/// The same on another directory.
int zookeeper(const std::string& action, const std::string& directory);
/// Restarts the server without what it knew. False if it does not start.
bool wipe_zookeeper();
/// "host:port" of the server that runs; empty if there is no ZooKeeper to be had.
const std::string& zookeeper_server();

inline constexpr std::uint32_t kSessionMs = 1000;
/// At a root that nobody else has.
ZookeeperOptions zookeeper_options();

}  // namespace granary::membership::tests
