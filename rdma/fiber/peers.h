#pragma once
// The connections of one endpoint, by node.
//
// How long to wait for one is a guess: over RDMA devices the handshake takes from a millisecond to most of a second, by how busy
// both hosts are, and one that is given up has to begin anew. So until a node is met for the first time, each attempt that failed
// makes the next one more patient. Later a node that does not answer is more likely dead, and nobody should wait for it.

#include <algorithm>
#include <optional>
#include <vector>

#include "rdma/fabric.h"

namespace granary::rdma::fiber {

class Peers {
 public:
  /// The longest wait is so many times what connect() was told.
  static constexpr unsigned kMostPatience = 8;

  explicit Peers(Endpoint& endpoint) : endpoint_(endpoint) {}

  Endpoint& endpoint() const { return endpoint_; }

  /// Sees to it that the node is connected, waiting `timeout_us` at first, longer if that was not enough: another fiber may have seen to it already.
  Status connect(NodeId node, std::uint64_t timeout_us) {
    const std::optional<ConnectionId> present = find(node);
    if (present && endpoint_.status(*present).ok()) return {};
    if (peers_.size() <= node) peers_.resize(node + std::size_t{1});
    Peer& peer = peers_[node];
    const Result<ConnectionId> made = endpoint_.connect(node, timeout_us * peer.patience);
    if (!made.ok()) {
      if (!present) peer.patience = std::min(2 * peer.patience, kMostPatience);
      return made.status();
    }
    peer = {.connection = *made};
    return {};
  }

  /// The node's last connection, which may be broken by now.
  std::optional<ConnectionId> find(NodeId node) const {
    return node < peers_.size() ? peers_[node].connection : std::nullopt;
  }

 private:
  struct Peer {
    std::optional<ConnectionId> connection;
    unsigned patience = 1;
  };

  Endpoint& endpoint_;
  std::vector<Peer> peers_;
};

}  // namespace granary::rdma::fiber
