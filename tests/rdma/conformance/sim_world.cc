// The suite over the simulator, in virtual time; its seed is 1, or what --seed says.

#include <map>

#include <gtest/gtest.h>

#include "rdma/sim/sim_network.h"
#include "tests/rdma/conformance/mail_worker.h"
#include "tests/rdma/conformance/zombie.h"
#include "tests/support/seeds.h"

namespace granary::rdma::conformance {
namespace {

std::uint64_t chosen_seed() { return *tests::seeds(1).begin(); }

class SimWorld final : public World {
 public:
  SimWorld() {
    network_.set_wait([this] { advance(); });
  }
  std::unique_ptr<Fabric> open_fabric(const NodeOptions& node) override { return network_.open_fabric(node).value(); }
  void start_peer(const NodeOptions& node) override {
    Peer& peer = peers_[node.node];
    peer.worker.reset();
    peer.zombie.reset();
    peer.fabric.reset();
    peer.stopped = false;
    peer.region = memory::Region::map({.reserve_bytes = kPeerBytes, .huge_pages = HugePages::kOff}).value();
    peer.fabric = open_fabric(node);
    EXPECT_TRUE(peer.fabric->register_region({.id = kPeerRegion}, *peer.region).ok());
    EXPECT_TRUE(peer.fabric->listen().ok());
  }
  /// It works whenever time passes, and so need not sleep.
  void start_worker(const NodeOptions& node) override {
    start_peer(node);
    Peer& peer = peers_[node.node];
    const auto answer = [&peer](std::string_view request) { return answer_of_peer(peer.worker.get(), request); };
    peer.worker = std::make_unique<MailWorker>(*peer.fabric, *peer.region, answer, /*most_sleep_us=*/1);
    EXPECT_TRUE(peer.worker->join(1, 0).ok());
  }
  void start_zombie(const NodeOptions& node) override {
    start_peer(node);
    Peer& peer = peers_[node.node];
    peer.zombie = std::make_unique<Zombie>(*peer.fabric, *peer.region);
  }
  bool cutting_kills() const override { return false; }
  void beside(const std::function<void()>& action, const std::function<void()>& turn) override {
    for (int i = 0; i < 5; ++i) turn();
    action();
    for (int i = 0; i < 5; ++i) turn();
  }
  void kill_peer(NodeId node) override {
    network_.crash(node);
    peers_[node].worker.reset();
    peers_[node].zombie.reset();
  }
  void stop_peer(NodeId node) override { peers_[node].stopped = true; }
  void resume_peer(NodeId node) override { peers_[node].stopped = false; }

  void advance() override {
    if (!network_.step()) network_.run_for(1'000'000);
    for (auto& [node, peer] : peers_) {
      if (peer.worker != nullptr && !peer.stopped) peer.worker->step(now_us());
      if (peer.zombie != nullptr && !peer.stopped) peer.zombie->step();
    }
  }
  std::uint64_t now_us() const override { return network_.now() / 1000; }
  std::uint64_t death_notice_us() const override { return network_.options().most_notice / 1000; }

 private:
  struct Peer {
    std::unique_ptr<memory::Region> region;
    std::unique_ptr<Fabric> fabric;
    std::unique_ptr<MailWorker> worker;
    std::unique_ptr<Zombie> zombie;
    bool stopped = false;
  };

  sim::SimNetwork network_{{.seed = chosen_seed()}};
  std::map<NodeId, Peer> peers_;
};

}  // namespace

std::unique_ptr<World> make_world() { return std::make_unique<SimWorld>(); }

}  // namespace granary::rdma::conformance
