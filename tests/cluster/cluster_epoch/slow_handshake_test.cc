// A leader of epochs whose members take long to connect with.

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "rdma/sim/sim_network.h"
#include "src/cluster/cluster_epoch/leader.h"
#include "tests/rdma/forwarding_endpoint.h"

namespace granary::cluster {
namespace {

using rdma::NodeId;

constexpr rdma::RegionId kControlBlocks = 1, kRoom = 2;

/// Its handshakes take 100 ms, and begin anew when they are given up.
class SlowEndpoint final : public rdma::test::ForwardingEndpoint {
 public:
  using ForwardingEndpoint::ForwardingEndpoint;

  Result<rdma::ConnectionId> connect(NodeId peer, std::uint64_t timeout_us) override {
    constexpr std::uint64_t kHandshake_us = 100'000;
    if (timeout_us < kHandshake_us) return Status(StatusCode::kUnavailable, "it does not answer in time");
    return ForwardingEndpoint::connect(peer, timeout_us);
  }
};

/// Two simulated nodes, of which the first one leads.
class SlowHandshake : public testing::Test, private base::Waiter {
 protected:
  SlowHandshake() {
    for (const NodeId id : {NodeId{1}, NodeId{2}}) {
      regions_.push_back(map());
      fabrics_.push_back(network_.open_fabric({.node = id, .generation = 1}).value());
      EXPECT_TRUE(fabrics_.back()->register_region({.id = kControlBlocks}, *regions_.back()).ok());
      options_.members.push_back({.node = id, .region = kControlBlocks, .generation = 1, .offset = 0});
    }
    EXPECT_TRUE(fabrics_[0]->register_region({.id = kRoom, .access = rdma::Access::kLocal}, *buffer_).ok());
    for (const auto& fabric : fabrics_) EXPECT_TRUE(fabric->listen().ok());
    endpoint_ = std::make_unique<SlowEndpoint>(fabrics_[0]->open_endpoint().value());
    shared_ = std::make_unique<rdma::fiber::FiberEndpoint>(*endpoint_);
    peers_ = std::make_unique<rdma::fiber::Peers>(*endpoint_);
    leader_ =
        std::make_unique<EpochLeader>(options_, LeaderMeans{scheduler_, *shared_, *peers_, *this, buffer_->base()});
  }

  /// Returns how many turns it takes until all members answer; at most `most`.
  unsigned turns(unsigned most) {
    for (unsigned turn = 1; turn < most; ++turn) {
      const auto report = leader_->step(leader_->next_us());
      if (report && report->turn != Turn::kUnreachable) return turn;
    }
    return most;
  }

  rdma::sim::SimNetwork network_{{.seed = 1}};

 private:
  static std::unique_ptr<memory::Region> map() {
    return memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value();
  }
  void pause(std::uint32_t) override { network_.step(); }

  const std::unique_ptr<memory::Region> buffer_ = map();
  std::vector<std::unique_ptr<memory::Region>> regions_;
  std::vector<std::unique_ptr<rdma::Fabric>> fabrics_;
  LeaderOptions options_{.configuration = 1};
  std::unique_ptr<rdma::Endpoint> endpoint_;
  std::unique_ptr<rdma::fiber::FiberEndpoint> shared_;
  std::unique_ptr<rdma::fiber::Peers> peers_;
  rdma::fiber::Scheduler scheduler_{[this] { shared_->poll(); }, *this};
  std::unique_ptr<EpochLeader> leader_;
};

/// As after a network that was down for a moment: no member is dead, so no other configuration comes.
TEST_F(SlowHandshake, ComesAboutAlsoAfterAConnectionBroke) {
  constexpr unsigned kMany = 20;
  EXPECT_LT(turns(kMany), kMany);
  network_.lose_connections(1, 2);
  EXPECT_LT(turns(kMany), kMany);
}

}  // namespace
}  // namespace granary::cluster
