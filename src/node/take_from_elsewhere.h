#pragma once
// Waits, at a node that comes back, for another node that has the log which it needs.

#include <cstdint>

#include <granary/cluster.h>
#include <granary/function_ref.h>
#include <granary/status.h>

#include "cluster_config/membership/membership.h"

namespace granary::db {

/// Waits until the node runs, and calls `take`, which asks it. After kUnavailable it calls again until `patience_us`
/// have passed, as the node may have ended meanwhile and nobody else has its log. Returns what `take` returned;
/// kUnavailable if the node does not run, and kMembershipLost if this node's membership is over.
Status take_from_when_it_runs(const membership::Membership& membership, NodeNumber node, std::uint64_t patience_us,
                              FunctionRef<Status()> take);

}  // namespace granary::db
