// The suite over the simulator, in virtual time; its seed is GRANARY_SIM_SEED (1 if not set).

#include <cstdlib>
#include <iostream>
#include <map>

#include <gtest/gtest.h>

#include "rdma/sim/sim_network.h"
#include "tests/rdma/conformance/world.h"

namespace granary::rdma::conformance {
namespace {

std::uint64_t chosen_seed() {
  const char* text = std::getenv("GRANARY_SIM_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

class SimWorld final : public World {
 public:
  ~SimWorld() override {
    if (testing::Test::HasFailure()) std::cerr << "replay with GRANARY_SIM_SEED=" << network_.options().seed << "\n";
  }
  std::unique_ptr<Fabric> open_fabric(const NodeOptions& node) override { return network_.open_fabric(node).value(); }
  void start_peer(const NodeOptions& node) override {
    Peer& peer = peers_[node.node];
    peer.fabric.reset();
    peer.region = memory::Region::map({.reserve_bytes = kPeerBytes, .huge_pages = HugePages::kOff}).value();
    peer.fabric = open_fabric(node);
    EXPECT_TRUE(peer.fabric->register_region({.id = kPeerRegion}, *peer.region).ok());
    EXPECT_TRUE(peer.fabric->listen().ok());
  }
  void kill_peer(NodeId node) override { network_.crash(node); }
  void stop_peer(NodeId) override {}
  void resume_peer(NodeId) override {}

  void advance() override {
    if (!network_.step()) network_.run_for(1'000'000);
  }
  std::uint64_t now_us() const override { return network_.now() / 1000; }
  std::uint64_t death_notice_us() const override { return network_.options().most_notice / 1000; }

 private:
  struct Peer {
    std::unique_ptr<memory::Region> region;
    std::unique_ptr<Fabric> fabric;
  };

  sim::SimNetwork network_{{.seed = chosen_seed()}};
  std::map<NodeId, Peer> peers_;
};

}  // namespace

std::unique_ptr<World> make_world() { return std::make_unique<SimWorld>(); }

}  // namespace granary::rdma::conformance
