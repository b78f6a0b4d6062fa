#pragma once
// The fixture of the conformance suite: node 1 is the test, with a buffer region and an endpoint; node 2 a peer.

#include <cstring>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/rdma/conformance/world.h"

namespace granary::rdma::conformance {

class Conformance : public testing::Test {
 protected:
  static constexpr NodeId kHere = 1;
  static constexpr NodeId kPeer = 2;
  static constexpr NodeOptions kPeerLife{.node = kPeer, .generation = 3, .layout = 77};
  static constexpr NodeOptions kNextPeerLife{.node = kPeer, .generation = 4, .layout = 77};

  void SetUp() override {
    world_ = make_world();
    world_->start_peer(kPeerLife);
    buffers_ = memory::Region::map({.reserve_bytes = 8u << 20, .huge_pages = HugePages::kOff, .shared = true}).value();
    fabric_ = world_->open_fabric({.node = kHere, .generation = 1, .layout = 77});
    ASSERT_TRUE(fabric_->register_region({.id = 1, .access = Access::kLocal}, *buffers_).ok());
    ASSERT_TRUE(fabric_->listen().ok());
    endpoint_ = open_endpoint();
    connection_ = connect(*endpoint_);
  }

  std::unique_ptr<Endpoint> open_endpoint() {
    auto endpoint = fabric_->open_endpoint();
    EXPECT_TRUE(endpoint.ok()) << endpoint.status().message();
    return std::move(endpoint).value();
  }
  ConnectionId connect(Endpoint& endpoint) {
    const Result<ConnectionId> connection = endpoint.connect(kPeer, kPatience_us);
    EXPECT_TRUE(connection.ok()) << connection.status().message();
    return connection.ok() ? *connection : 0;
  }

  RemoteAddress at(std::uint64_t offset, Generation generation = kPeerLife.generation) const {
    return {.node = kPeer, .region = kPeerRegion, .generation = generation, .offset = offset};
  }
  /// The n-th word of the buffer region.
  std::uint64_t* word(std::size_t n) const { return reinterpret_cast<std::uint64_t*>(buffers_->base()) + n; }

  /// Waits for the next completion.
  std::optional<Completion> next(Endpoint& endpoint) {
    const std::uint64_t end = world_->now_us() + kPatience_us;
    Completion completion;
    while (endpoint.poll({&completion, 1}) == 0) {
      if (world_->now_us() >= end) {
        ADD_FAILURE() << "no completion in " << kPatience_us << " us";
        return {};
      }
      world_->advance();
    }
    return completion;
  }
  /// Posts a chain and waits for it; true if it was done.
  bool run(const std::vector<Operation>& chain) {
    const PostResult posted = endpoint_->post(connection_, chain, Signal::kYes, 0);
    EXPECT_EQ(posted, PostResult::kPosted) << name(posted);
    if (posted != PostResult::kPosted) return false;
    const auto completion = next(*endpoint_);
    return completion && completion->status == CompletionStatus::kDone;
  }
  std::uint64_t remote_word(std::uint64_t offset) {
    EXPECT_TRUE(run({Operation::read(word(0), at(offset), 8)}));
    return *word(0);
  }
  /// Lets time pass until the connection is broken; how long it took.
  std::uint64_t time_to_break(ConnectionId connection) {
    const std::uint64_t begin = world_->now_us();
    while (endpoint_->status(connection).ok() && world_->now_us() < begin + kPatience_us) world_->advance();
    return world_->now_us() - begin;
  }

  std::unique_ptr<World> world_;
  std::unique_ptr<memory::Region> buffers_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Endpoint> endpoint_;
  ConnectionId connection_ = 0;
};

}  // namespace granary::rdma::conformance
