#pragma once
// Two simulated nodes with a mailbox in each direction.

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "rdma/mailbox/receiver.h"
#include "rdma/mailbox/sender.h"
#include "rdma/sim/sim_network.h"

namespace granary::rdma::mailbox {

inline constexpr std::uint64_t kRingBytes = 1024;
inline constexpr std::uint64_t kMostBytes = 10'000;
inline constexpr std::uint64_t kStaging = 8192;   // offset in the region; the ring lies at 0
inline constexpr std::uint64_t kSign = 4096 + 3;  // of the ring, in its receiver's region
inline constexpr std::uint64_t kTag = 42;
inline constexpr std::uint64_t kSeeds = 100;  // of tests that try many

struct MailboxNode {
  MailboxNode(sim::SimNetwork& network, NodeId id) : node(id) { join(network, 1); }

  void join(sim::SimNetwork& network, Generation generation) {
    sender.reset();
    receiver.reset();
    endpoint.reset();
    fabric.reset();
    region = memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value();
    fabric = network.open_fabric({.node = node, .generation = generation}).value();
    EXPECT_TRUE(fabric->register_region({.id = 1}, *region).ok());
    EXPECT_TRUE(fabric->listen().ok());
    endpoint = fabric->open_endpoint().value();
    receiver = std::make_unique<Receiver>(region->base(), kRingBytes, kMostBytes);
  }
  /// Connects to the other node's ring, if it answers.
  bool connect(const MailboxNode& peer) {
    const Result<ConnectionId> made = endpoint->connect(peer.node, 0);
    if (!made.ok()) return false;
    sender = std::make_unique<Sender>(*endpoint, *made, place_for(peer));
    return true;
  }
  SenderPlace place_for(const MailboxNode& peer) const {
    const Generation life = peer.fabric->node().generation;
    const RemoteAddress ring{.node = peer.node, .region = 1, .generation = life, .offset = 0};
    return {.ring = ring,
            .ring_bytes = kRingBytes,
            .most_bytes = kMostBytes,
            .staging = region->base() + kStaging,
            .tag = kTag,
            .sign = ring.plus(kSign)};
  }
  /// Hands on completions, and lets the sender go on.
  void step() {
    Completion completion;
    while (endpoint->poll({&completion, 1}) != 0) {
      if (sender != nullptr) sender->completed(completion);
    }
    if (sender != nullptr) sender->step();
  }

  const NodeId node;
  std::unique_ptr<memory::Region> region;
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Receiver> receiver;
  std::unique_ptr<Sender> sender;
};

struct MailboxPair {
  explicit MailboxPair(sim::SimOptions options) : network(options) {
    EXPECT_TRUE(a.connect(b));
    EXPECT_TRUE(b.connect(a));
  }
  explicit MailboxPair(std::uint64_t seed) : MailboxPair(sim::SimOptions{.seed = seed}) {}

  void step() {
    if (!network.step()) network.run_for(1'000'000);
    a.step();
    b.step();
  }

  sim::SimNetwork network;
  MailboxNode a{network, 1};
  MailboxNode b{network, 2};
};

/// A message that shows any byte out of place.
inline std::string message(std::uint64_t number, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(1 + (number * 31 + i * 7) % 255);
  return text;
}

}  // namespace granary::rdma::mailbox
