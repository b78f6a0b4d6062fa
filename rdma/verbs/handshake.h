#pragma once
// Makes the caller's side of a connection.

#include <string>

#include "rdma/verbs/cm_events.h"
#include "rdma/verbs/device_context.h"
#include "rdma/verbs/hello.h"
#include "rdma/verbs/options.h"

namespace granary::rdma::verbs {

struct Introduced {
  CmId id;  ///< it has a queue pair that may be used; its events go to the channel given
  Answer answer;
};

/// Connects to the peer at `address`, at most until `deadline_us` of steady time. Both sides prove that they have the
/// key. Events afterwards go to `target`.
Result<Introduced> shake_hands(const DeviceContext& device, ibv_cq* completions, Request request, const ClusterKey& key,
                               const NodeAddress& address, std::uint64_t deadline_us, rdma_event_channel* channel,
                               CmTarget& target);

/// Returns an IP address, or the first one of a name, with a port. Returns kInvalidArgument if there is none.
Result<sockaddr_storage> socket_address(const std::string& host, std::uint16_t service);

/// Returns the address as text, such as "10.0.0.1:18515".
std::string place_of(const NodeAddress& address);

}  // namespace granary::rdma::verbs
