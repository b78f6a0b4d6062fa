#pragma once
// Makes a connection: the caller's side.

#include <string>

#include "rdma/verbs/cm_events.h"
#include "rdma/verbs/device_context.h"
#include "rdma/verbs/hello.h"
#include "rdma/verbs/options.h"

namespace granary::rdma::verbs {

struct Introduced {
  CmId id;  ///< with a queue pair that may be used; its events go to the channel given
  Answer answer;
};

/// Connects to the peer at `address`, at most until `deadline_us` of steady time; both prove that they have the key.
/// Events afterwards go to `target`.
Result<Introduced> shake_hands(const DeviceContext& device, ibv_cq* completions, Request request, const ClusterKey& key,
                               const NodeAddress& address, std::uint64_t deadline_us, rdma_event_channel* channel,
                               CmTarget& target);

/// An IP address, or a name's first, with a port. kInvalidArgument if there is none.
Result<sockaddr_storage> socket_address(const std::string& host, std::uint16_t service);

/// "10.0.0.1:18515".
std::string place_of(const NodeAddress& address);

}  // namespace granary::rdma::verbs
