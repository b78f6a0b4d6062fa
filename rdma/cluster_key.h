#pragma once
// Has the type of a cluster's secret as the fabric holds it.

#include <array>
#include <cstdint>

namespace granary::rdma {

/// key_of() (authentication.h) makes a key. A key of all zeros is no key: then nodes without a key are let in.
using ClusterKey = std::array<std::uint8_t, 32>;

}  // namespace granary::rdma
