#pragma once
// The secret of a cluster as the fabric holds it.

#include <array>
#include <cstdint>

namespace granary::rdma {

/// Made by key_of() (authentication.h). All zeros: no key, so that whoever has none either is let in.
using ClusterKey = std::array<std::uint8_t, 32>;

}  // namespace granary::rdma
