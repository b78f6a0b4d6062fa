#pragma once
// The HTTP service of a node: /metrics, /status.json, /node.json, /healthz, /readyz, and a page with charts.
// docs/monitoring.md describes them.
//
// The server's own thread collects everything when it is asked for. Of the locks that a transaction needs it takes only
// those of lists that change when workers, members or logs come and go.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <granary/status.h>

#include "src/watch/http/server.h"
#include "src/watch/node_report.h"

namespace granary::watch {

/// A node of the cluster file.
struct Peer {
  NodeNumber node = 0;
  std::string host = {};
  std::string ip = {};  ///< where this node asks it; empty if it cannot
  std::uint16_t port = 0;
  std::string http = {};     ///< its address as text; empty if it has none
  std::string why_not = {};  ///< why this node cannot ask it
};

struct ServiceOptions {
  http::Listen listen;
  NodeNumber node = 0;
  std::vector<Peer> peers = {};      ///< all nodes, this one included
  std::function<NodeReport()> look;  ///< called by the server's thread; outlives the service
};

class Service {
 public:
  /// How long the service waits for another node's part of /status.json.
  static constexpr std::uint32_t kPeerTimeout_ms = 300;

  /// Starts the service, which serves until it is destroyed. kUnavailable if it cannot listen at the address.
  static Result<std::unique_ptr<Service>> start(ServiceOptions options);
  virtual ~Service() = default;
  virtual std::uint16_t port() const = 0;
};

}  // namespace granary::watch
