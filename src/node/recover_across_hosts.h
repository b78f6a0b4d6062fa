#pragma once
// Recovery of a whole cluster whose nodes do not see each other's directories (I20). Each node says at the board what
// its own log holds, ends the log as all agree, and says so. No node opens its database before all have said so.

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

/// For a member that nobody steps meanwhile; `nodes`: all of the cluster. Waits for `timeout_ms` while some are no
/// members, and for those that are as long as their logs take, which a notice names from time to time. Nodes that end
/// meanwhile may come back, until this has returned to another: then that start comes to nothing, without harm.
/// kDamaged if the data of one are gone. Returns where E may begin (ClusterPart::first_epoch).
Result<epoch::Epoch> recover_across_hosts(membership::Membership& membership, std::span<const membership::NodeId> nodes,
                                          const OwnDirectory& own, std::uint64_t timeout_ms, base::FileSystem& files,
                                          std::chrono::milliseconds tells_every = std::chrono::seconds(10));

}  // namespace granary::db
