#pragma once
// The connections of one endpoint, by node.

#include <optional>
#include <vector>

#include "rdma/fabric.h"

namespace granary::rdma::fiber {

class Peers {
 public:
  explicit Peers(Endpoint& endpoint) : endpoint_(endpoint) {}

  Endpoint& endpoint() const { return endpoint_; }

  /// Sees to it that the node is connected, waiting at most `timeout_us`: another fiber may have seen to it already.
  Status connect(NodeId node, std::uint64_t timeout_us) {
    const std::optional<ConnectionId> present = find(node);
    if (present && endpoint_.status(*present).ok()) return {};
    const Result<ConnectionId> made = endpoint_.connect(node, timeout_us);
    if (!made.ok()) return made.status();
    if (connections_.size() <= node) connections_.resize(node + std::size_t{1});
    connections_[node] = *made;
    return {};
  }

  /// The node's last connection, which may be broken by now.
  std::optional<ConnectionId> find(NodeId node) const {
    return node < connections_.size() ? connections_[node] : std::nullopt;
  }

 private:
  Endpoint& endpoint_;
  std::vector<std::optional<ConnectionId>> connections_;
};

}  // namespace granary::rdma::fiber
