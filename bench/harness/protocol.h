#pragma once
// How transactions that reach other nodes of a cluster are run (--protocol).

#include <array>
#include <cstdint>
#include <string_view>

namespace granary::bench {

enum class Protocol : std::uint8_t {
  kOcc,       ///< optimistic: what was read is validated at the end
  kLease2pl,  ///< records known beforehand are locked and leased at the start (Transaction::declare)
};
inline constexpr std::array<std::string_view, 2> kProtocolNames{"occ", "lease_2pl"};

inline std::string_view name(Protocol protocol) { return kProtocolNames[static_cast<std::size_t>(protocol)]; }

}  // namespace granary::bench
