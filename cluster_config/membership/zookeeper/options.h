#pragma once
// Says how to reach a ZooKeeper ensemble.

#include <cstdint>
#include <functional>
#include <string>

namespace granary::membership {

struct ZookeeperOptions {
  std::string servers;            ///< "host:port,[::1]:port": all servers of the ensemble
  std::string root = "/granary";  ///< the znode below which everything is; each cluster has its own
  std::string digest;  ///< "user:password": only this user may see or change anything below the root; empty: all may
  /// How long a member may give no sign before it is dead. Servers allow 2 to 20 of their ticks.
  std::uint32_t session_ms = 2000;
  std::uint32_t connect_ms = 30'000;  ///< how long to try to reach a server at the start
  /// Is called now and then while a node waits for a server or for its mark. If it returns true, the wait ends with
  /// kUnavailable.
  std::function<bool()> give_up = [] { return false; };
};

}  // namespace granary::membership
