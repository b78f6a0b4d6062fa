#pragma once
// Keeps the connections of one endpoint, by node.
//
// How long to wait for a connection is a guess. Over RDMA devices the handshake takes from a millisecond to most of a
// second, depending on how busy both hosts are, and one that is given up has to begin anew. So each attempt that failed
// makes the next one wait longer. A node whose connection broke is more likely dead than busy: a process that was
// killed needs a while to end, and does not answer meanwhile. So the first attempts to reach it again are brief, since
// the caller does nothing else meanwhile, and none is longer than the first one to reach it was. A caller that knows
// that the node lives says so (note_heard), and is as patient as if the node had never been met.

#include <algorithm>
#include <optional>
#include <vector>

#include "rdma/fabric.h"

namespace granary::rdma::fiber {

class Peers {
 public:
  /// The longest wait for a node that was never met is so many times the time given to connect().
  static constexpr unsigned kMostPatience = 8;
  /// The first wait for a node that was met before.
  static constexpr std::uint64_t kAgain_us = 30'000;
  static constexpr unsigned kMostPatienceAgain = 64;

  explicit Peers(Endpoint& endpoint) : endpoint_(endpoint) {}

  Endpoint& endpoint() const { return endpoint_; }

  /// Connects to the node, unless another fiber has done so already. For a node that was never met it waits
  /// `timeout_us` at first, and longer if that was not enough. For a node that was met it waits kAgain_us at first, and
  /// longer later, but at most `timeout_us`.
  Status connect(NodeId node, std::uint64_t timeout_us) {
    const std::optional<ConnectionId> present = find(node);
    if (present && endpoint_.status(*present).ok()) return {};
    if (peers_.size() <= node) peers_.resize(node + std::size_t{1});
    Peer& peer = peers_[node];
    const std::uint64_t wait_us =
        present ? std::min(timeout_us, kAgain_us * peer.patience) : timeout_us * peer.patience;
    const Result<ConnectionId> made = endpoint_.connect(node, wait_us);
    if (!made.ok()) {
      peer.patience = std::min(2 * peer.patience, present ? kMostPatienceAgain : kMostPatience);
      return made.status();
    }
    peer = {.connection = *made, .generation = endpoint_.peer_generation(*made)};
    return {};
  }

  /// Notes that the node is known to live, as it has just been heard of. If its connection is broken, the next wait is
  /// that for a node that was never met.
  void note_heard(NodeId node) {
    if (const std::optional<ConnectionId> present = find(node); present && !endpoint_.status(*present).ok())
      peers_[node] = {};
  }

  /// Returns the node's last connection, which may be broken by now.
  std::optional<ConnectionId> find(NodeId node) const {
    return node < peers_.size() ? peers_[node].connection : std::nullopt;
  }
  /// Returns the life of the node that its last connection reaches, or has reached, as the endpoint forgets the life of
  /// a broken connection. Returns 0 if there was no connection.
  Generation generation(NodeId node) const { return node < peers_.size() ? peers_[node].generation : 0; }

 private:
  struct Peer {
    std::optional<ConnectionId> connection;
    Generation generation = 0;
    unsigned patience = 1;
  };

  Endpoint& endpoint_;
  std::vector<Peer> peers_;
};

}  // namespace granary::rdma::fiber
