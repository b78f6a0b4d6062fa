#pragma once
// Recovers a whole cluster whose nodes do not see each other's directories (I20). Each node says at the board what its
// own log holds, ends the log as all agree, and says so. No node opens its database before all have said so.

#include <chrono>
#include <span>

#include <granary/options.h>
#include <granary/status.h>

#include "cluster_config/membership/membership.h"
#include "src/base/file.h"
#include "src/epoch/epoch.h"

namespace granary::db {

/// The directory of the node that takes part, if it has one.
struct OwnDirectory {
  Options options;
  bool served = false;  ///< membership::Life::served
};

/// Recovers the cluster together with all other nodes, and returns where E may begin (ClusterPart::first_epoch).
/// `nodes` are all of the cluster. Precondition: this node is a member, and nobody else steps its membership.
///
/// It waits for `timeout_ms` while some nodes are no members. It waits for members as long as their logs take, and a
/// notice names these from time to time. A node that ends meanwhile may come back, as long as this has not returned at
/// another node; after that the start fails, without harm. Returns kDamaged if the data of a node are gone.
Result<epoch::Epoch> recover_across_hosts(membership::Membership& membership, std::span<const membership::NodeId> nodes,
                                          const OwnDirectory& own, std::uint64_t timeout_ms, base::FileSystem& files,
                                          std::chrono::milliseconds tells_every = std::chrono::seconds(10));

}  // namespace granary::db
