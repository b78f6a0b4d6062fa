#pragma once
// Recovers a cluster whose nodes are all on this host, before a node opens its directory. The first node that comes
// after a crash recovers the whole cluster.

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <granary/options.h>
#include <granary/status.h>

#include "src/base/file.h"
#include "src/epoch/epoch.h"

namespace granary::db {

/// One of the cluster's nodes.
struct NodeDirectory {
  Options options;
  bool served = false;                      ///< membership::Life::served
  std::function<std::uint32_t()> life_now;  ///< returns the life that the node lives; 0 if it lives none
};

/// Recovers the cluster unless another node has done so, and returns where E may begin at a node that begins now
/// (ClusterPart::first_epoch). `lock` is a file that all nodes share. It waits at most `timeout_ms` for another node
/// that recovers the cluster, and for former processes of nodes, which may be about to end. Returns an error if one of
/// these does not end, or if the cluster has served and the directory of a node has no data.
Result<epoch::Epoch> recover_directories(std::span<const NodeDirectory> nodes, const std::string& lock,
                                         std::uint64_t timeout_ms, base::FileSystem& files);

}  // namespace granary::db
