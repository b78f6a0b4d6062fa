#pragma once
// `granary doctor --listen`: answers the echoes of doctors on other hosts.

#include <cstdint>
#include <string>

#include <granary/status.h>

#include "src/cli/cluster_check/socket.h"

namespace granary::doctor {

/// Serves one peer after the other, each for a few seconds at most, so that no peer can keep it.
class Listener {
 public:
  /// Listens at all addresses of the host. Port 0 is any free one. kUnavailable if the port is taken.
  static Result<Listener> open(std::uint16_t port);

  std::uint16_t port() const { return port_; }

  struct Served {
    std::string peer;          ///< its address
    std::uint64_t echoes = 0;  ///< the number of echoes that were answered
    std::string trouble;       ///< why it was not served to the end; empty if it was
  };
  /// Waits for a peer and serves it; kUnavailable if none comes in time.
  Result<Served> serve_one(std::uint32_t timeout_ms);

 private:
  Listener(cluster_check::Socket socket, std::uint16_t port) : socket_(std::move(socket)), port_(port) {}

  cluster_check::Socket socket_;
  std::uint16_t port_ = 0;
};

}  // namespace granary::doctor
