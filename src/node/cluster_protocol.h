#pragma once
// A number for everything that the programs of a cluster's nodes must have alike beside the cluster file, so that they
// understand each other's memory and messages. (Files and the fabric have versions of their own.)

#include <cstdint>

namespace granary::db {

/// Raised when nodes change what they do with each other's memory and no size shows it: what a word means, who may
/// change it when, in which order.
inline constexpr std::uint64_t kClusterProtocol = 5;

/// Told by that number, the version of messages, and the layout of all that other nodes reach.
std::uint64_t cluster_protocol();

}  // namespace granary::db
