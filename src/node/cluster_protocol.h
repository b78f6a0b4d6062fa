#pragma once
// Makes one number of everything, beside the cluster file, that the programs of a cluster's nodes must have alike to
// understand each other's memory and messages. (Files and the fabric have versions of their own.)

#include <cstdint>

namespace granary::db {

/// This is raised when nodes change the use of each other's memory and no size shows that: the meaning of a word, or
/// who may change it when and in which order.
inline constexpr std::uint64_t kClusterProtocol = 7;

/// Returns a fingerprint of kClusterProtocol, the version of messages, and the layout of all that other nodes reach.
std::uint64_t cluster_protocol();

}  // namespace granary::db
