#pragma once
// What the programs of a cluster's nodes must have alike beside the cluster file, so that they understand what they find in each other's
// memory and messages. (Files and the fabric have versions of their own.)

#include <cstdint>

namespace granary::db {

/// Raised when nodes begin to do something else with what they reach of each other and no size tells it: what a word means, who may
/// change it when, in which order.
inline constexpr std::uint64_t kClusterProtocol = 2;

/// Told by that number, the version of messages, and the layout of all that other nodes reach.
std::uint64_t cluster_protocol();

}  // namespace granary::db
