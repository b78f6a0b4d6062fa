#pragma once
// Recovery of a whole cluster whose nodes do not see each other's directories (DESIGN: recovery of a whole cluster). Each says at the
// board what its own log holds, ends it as all agree, and says so. None opens its database before all have.

#include <span>

#include <granary/options.h>
#include <granary/status.h>

#include "cluster_config/membership/membership.h"
#include "src/base/file.h"
#include "src/epoch/epoch.h"

namespace granary::db {

/// For a member that nobody steps meanwhile; `nodes`: all of the cluster, `own`: of this one, which may have no directory. Waits for
/// `timeout_ms` while some are no members, and for those that are as long as their logs take. Nodes that end meanwhile may come
/// back, until this has returned to another: then that start comes to nothing, without harm.
/// Returns where E may begin (ClusterPart::first_epoch).
Result<epoch::Epoch> recover_across_hosts(membership::Membership& membership, std::span<const membership::NodeId> nodes,
                                          const Options& own, std::uint64_t timeout_ms, base::FileSystem& files);

}  // namespace granary::db
