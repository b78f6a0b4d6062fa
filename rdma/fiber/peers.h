#pragma once
// The connections of one endpoint, by node.
//
// How long to wait for one is a guess: over RDMA devices the handshake takes from a millisecond to most of a second, by
// how busy both hosts are, and one that is given up has to begin anew. So each attempt that failed makes the next one
// more patient. A node whose connection broke is more likely dead than busy: a process that was killed needs a while to
// end, and does not answer meanwhile. So the first attempts to reach it again are brief, and whoever tries does nothing
// else for no longer.

#include <algorithm>
#include <optional>
#include <vector>

#include "rdma/fabric.h"

namespace granary::rdma::fiber {

class Peers {
 public:
  /// The longest wait for a node that was never met is so many times what connect() was told.
  static constexpr unsigned kMostPatience = 8;
  /// The first wait for one that was met before.
  static constexpr std::uint64_t kAgain_us = 30'000;
  static constexpr unsigned kMostPatienceAgain = 64;

  explicit Peers(Endpoint& endpoint) : endpoint_(endpoint) {}

  Endpoint& endpoint() const { return endpoint_; }

  /// Sees to it that the node is connected; another fiber may have seen to it already. Of a node that was never met it
  /// waits `timeout_us` at first, longer if that was not enough. Of one that was met it waits kAgain_us at first,
  /// longer later, at most `timeout_us`.
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

  /// Notes that the node has just been heard of, so it lives: if its connection is broken, it is waited for like one
  /// that was never met.
  void note_heard(NodeId node) {
    if (const std::optional<ConnectionId> present = find(node); present && !endpoint_.status(*present).ok())
      peers_[node] = {};
  }

  /// The node's last connection, which may be broken by now.
  std::optional<ConnectionId> find(NodeId node) const {
    return node < peers_.size() ? peers_[node].connection : std::nullopt;
  }
  /// The life of the node that its last connection reaches, or has reached: the endpoint forgets that of a broken one.
  /// 0 if there is none.
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
