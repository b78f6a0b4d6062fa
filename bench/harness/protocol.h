#pragma once
// The ways to run transactions that reach other nodes of a cluster (--protocol).

#include <array>
#include <cstdint>
#include <string_view>

namespace granary::bench {

enum class Protocol : std::uint8_t {
  kOcc,       ///< optimistic: what was read is validated at the end
  kLease2pl,  ///< records known beforehand are locked and leased at the start (Transaction::declare)
  kTwoPcTcp,  ///< the baseline, without one-sided operations: two-phase commit with locks, by messages over TCP
};
inline constexpr std::array<std::string_view, 3> kProtocolNames{"occ", "lease_2pl", "two_pc_tcp"};

inline std::string_view name(Protocol protocol) { return kProtocolNames[static_cast<std::size_t>(protocol)]; }

}  // namespace granary::bench
