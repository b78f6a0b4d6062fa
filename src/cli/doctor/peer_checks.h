#pragma once
// Checks the connection between this host and another one on which `granary doctor --listen` runs.

#include <cstdint>
#include <span>
#include <string>

#include <granary/status.h>

#include "src/cli/cluster_check/finding.h"

namespace granary::doctor {

struct PeerAddress {
  std::string host;
  std::uint16_t port = 0;
};

/// Reads "HOST", "HOST:PORT", "[::1]:PORT", or an IPv6 address without a port. kInvalidArgument for anything else.
Result<PeerAddress> peer_address_of(const std::string& text);

/// One echo: times of this host, and of the peer in between.
struct EchoTimes {
  std::uint64_t sent_ns = 0;  ///< all times are of CLOCK_REALTIME, each on its host
  std::uint64_t received_ns = 0;
  std::uint64_t returned_ns = 0;
  std::uint64_t round_trip_ns = 0;  ///< by a clock that nobody sets, the peer's part included
};

struct ClockDifference {
  std::int64_t ahead_ns = 0;   ///< how far the peer's clock is ahead of this one's
  std::uint64_t bound_ns = 0;  ///< how wrong that can be
};
/// Returns the estimate of the fastest echo. Its bound is the smallest: half of the time that its messages were under
/// way.
ClockDifference clock_difference(std::span<const EchoTimes> echoes);

/// Connects to the peer, compares the releases, and times a hundred echoes. Takes a few seconds at most.
cluster_check::Findings check_peer(const PeerAddress& peer);

}  // namespace granary::doctor
