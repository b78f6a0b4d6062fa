#pragma once
// Recovery before a node of a cluster opens its directory. The first node that comes after a crash recovers the whole
// cluster.

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <granary/options.h>
#include <granary/status.h>

#include "src/base/file.h"
#include "src/epoch/epoch.h"

namespace granary::db {

/// One of the cluster's nodes, all of which are on this host.
struct NodeDirectory {
  Options options;
  bool served = false;                      ///< membership::Life::served
  std::function<std::uint32_t()> life_now;  ///< the life that the node lives; 0: none
};

/// `lock`: a file that they share. Waits at most `timeout_ms` for another node that is at it, and for former processes
/// of nodes, which may be about to end. An error if one does not, or if a node's data are gone: the cluster has served,
/// and its directory has none. Returns where E of a node that begins now may begin (ClusterPart::first_epoch).
Result<epoch::Epoch> recover_directories(std::span<const NodeDirectory> nodes, const std::string& lock,
                                         std::uint64_t timeout_ms, base::FileSystem& files);

}  // namespace granary::db
