#pragma once
// What two processes tell each other before they share memory. Each side sends one packet; the side that is connected to
// adds its regions, and their memory files as ancillary data, only if it takes the other for a peer.
//
// Packets come from other processes: anything may be in them, and what is not understood is an error, never trusted.

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <granary/status.h>

#include "rdma/fabric.h"
#include "rdma/shm/descriptor.h"

namespace granary::rdma::shm {

/// Changes with the hello and with what operations promise each other through shared memory.
inline constexpr std::uint32_t kProtocolVersion = 2;
/// Regions of a node that peers can reach, one of them the fabric's own.
inline constexpr std::size_t kMostRegions = 33;

struct Hello {
  std::array<char, 8> magic = {'g', 'r', 'a', 'n', 's', 'h', 'm', '\n'};
  std::uint32_t version = kProtocolVersion;
  Generation generation = 0;
  std::uint64_t layout = 0;
  NodeId node = 0;
  std::uint16_t region_count = 0;
  std::uint32_t unused = 0;
  struct Region {
    std::uint64_t bytes = 0;
    RegionId id = 0;
    std::array<std::uint16_t, 3> unused = {};
  };
  std::array<Region, kMostRegions> regions = {};
};
static_assert(std::is_trivially_copyable_v<Hello> && sizeof(Hello) == 32 + 16 * kMostRegions);

struct ReceivedHello {
  Hello hello;
  std::vector<Descriptor> files;  ///< one a region, in the same order
};

/// Sends one packet; `files` go with it.
Status send_hello(int socket, const Hello& hello, const std::vector<int>& files);
/// Takes the packet that has arrived. kUnavailable if the other side has hung up; kFailedPrecondition if it is no hello.
Result<ReceivedHello> receive_hello(int socket);
/// OK if these two can share memory; otherwise kFailedPrecondition with what differs, both values, and the mend.
Status check_compatible(const Hello& mine, const Hello& theirs);

}  // namespace granary::rdma::shm
