#pragma once
// One-sided READs between two doctors: one offers a page for a moment, and the other one reads it. This finds faults
// that echoes over TCP cannot: a port that rdma_cm may not use, GIDs that do not reach each other, an MTU that the
// network does not carry.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "rdma/fabric.h"
#include "src/cli/cluster_check/finding.h"
#include "src/cli/doctor/stream.h"
#include "src/memory/region.h"

namespace granary::doctor {

/// Where to read the page: an IP address on the RDMA network, and a port of rdma_cm's TCP port space.
struct ReadPlace {
  std::string address;
  std::uint16_t service = 0;
};

/// Returns the listener's answer to the question for a page, with its line end: the place, or why there is none.
std::string line_of(const Result<ReadPlace>& place);
/// Reads the answer, a line without its end. The error is the reason that the listener gives, or that the line is no
/// such answer.
Result<ReadPlace> read_place_of(std::string_view line);

/// A fabric, and the region by which it takes part.
struct ReadEnd {
  std::unique_ptr<memory::Region> region;  ///< must outlive the fabric
  std::unique_ptr<rdma::Fabric> fabric;
};
inline constexpr rdma::NodeId kReader = 0, kRead = 1;

/// Times READs of one cache line of the peer's page, in microseconds, in the order of time. `reader` listens.
Result<std::vector<double>> time_reads(const ReadEnd& reader, std::size_t reads);

/// Offers a page, as the listener does when it is asked for one, and waits until the peer is done or the stream's time
/// is up. Returns what went wrong with the stream; empty if nothing did.
std::string offer_page(Stream& stream);

/// Asks the listener for a page and times READs of it.
cluster_check::Finding check_reads(Stream& stream);

}  // namespace granary::doctor
