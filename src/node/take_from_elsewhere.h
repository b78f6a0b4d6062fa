#pragma once
// How a node that comes back waits for another one that has what it needs.

#include <cstdint>

#include <granary/cluster.h>
#include <granary/function_ref.h>
#include <granary/status.h>

#include "cluster_config/membership/membership.h"

namespace granary::db {

/// Waits until the node runs, and calls `take`, which asks it: again after kUnavailable, as the node may have ended
/// meanwhile and nobody else has its log, until so long has passed. Returns what `take` did; kUnavailable if the node
/// does not run, and kMembershipLost if this node's membership is over.
Status take_from_when_it_runs(const membership::Membership& membership, NodeNumber node, std::uint64_t patience_us,
                              FunctionRef<Status()> take);

}  // namespace granary::db
