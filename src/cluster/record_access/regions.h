#pragma once
// The regions that each node of a cluster registers at its fabric, the same numbers everywhere.

#include "rdma/fabric.h"

namespace granary::cluster {

inline constexpr rdma::RegionId kDataRegion = 1;     ///< the engine's memory: records, indexes
inline constexpr rdma::RegionId kControlRegion = 2;  ///< the control block (src/epoch/control_block.h)
inline constexpr rdma::RegionId kMailRegion = 3;     ///< rings of messages (src/cluster/messages)
inline constexpr rdma::RegionId kBufferRegion = 4;   ///< local: buffers of this node's own operations

}  // namespace granary::cluster
