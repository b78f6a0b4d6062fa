#pragma once
// Makes the few local sockets that shm needs.

#include <cstdint>
#include <string>

#include <granary/status.h>

#include "src/base/descriptor.h"

namespace granary::rdma::shm {

using base::Descriptor;

/// Returns "cannot WHAT: the reason in errno".
Status system_error(StatusCode code, const std::string& what);

/// Makes a socket of packets that listens at `path`. The socket file of a dead process there is replaced.
Result<Descriptor> listen_at(const std::string& path);
/// Makes a socket of packets connected to `path`. Returns kUnavailable if no process listens there.
Result<Descriptor> connect_to(const std::string& path);
/// Waits until the socket can be read or has been hung up. Returns false after `timeout_us`.
bool wait_readable(int fd, std::uint64_t timeout_us);

/// The process at the other end of a connected socket.
struct SocketPeer {
  int process = 0;
  unsigned user = 0;
};
SocketPeer peer_of(int socket);

}  // namespace granary::rdma::shm
