#pragma once
// How to reach a ZooKeeper ensemble.

#include <cstdint>
#include <functional>
#include <string>

namespace granary::membership {

struct ZookeeperOptions {
  std::string servers;            ///< "host:port,[::1]:port": all servers of the ensemble
  std::string root = "/granary";  ///< the znode below which all is; each cluster has its own
  std::string digest;  ///< "user:password"; then nobody else may see or change what is below the root. Empty: all may
  /// After this long without a sign a member is dead. Servers allow 2 to 20 of their ticks.
  std::uint32_t session_ms = 2000;
  std::uint32_t connect_ms = 30'000;  ///< how long to try to reach a server at the start
  /// Asked now and then while a node waits for a server or for its mark: true ends that with kUnavailable.
  std::function<bool()> give_up = [] { return false; };
};

}  // namespace granary::membership
