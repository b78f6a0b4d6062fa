#pragma once
// Simulated nodes 0, 1 and 2 on one thread; whoever waits lets all of them work.

#include <array>
#include <memory>
#include <optional>

#include "rdma/sim/sim_network.h"
#include "tests/cluster/messages/nodes.h"

namespace granary::cluster::messages {

class SimNodes : private base::Waiter {
 public:
  /// `calls`: of node 1.
  explicit SimNodes(std::uint64_t seed = 1, CallQueue* calls = nullptr)
      : network(rdma::sim::SimOptions{.seed = seed}),
        calls_(calls) {
    for (rdma::NodeId id = 0; id < 2; ++id) begin(id, 1);
  }

  TestNode& node(rdma::NodeId id) { return *nodes_[id]; }
  void begin(rdma::NodeId id, rdma::Generation generation) {
    nodes_[id] =
        std::make_unique<TestNode>([&] { return network.open_fabric({.node = id, .generation = generation}).value(); },
                                   small_layout(), id == 1 ? calls_ : nullptr);
    node(id).join(scheduler, now_us());
  }
  /// A node's worker ends, and another one takes its number over.
  void change_worker(rdma::NodeId id) { node(id).change_worker(scheduler, now_us()); }
  void crash(rdma::NodeId id) {
    network.crash(id);
    nodes_[id].reset();
  }
  /// Lets time pass.
  void pass(std::uint64_t time_us) {
    for (const std::uint64_t end = network.now() + 1000 * time_us; network.now() < end;) work();
  }

  rdma::sim::SimNetwork network;
  std::optional<rdma::NodeId> resting;    ///< whose service does nothing
  std::function<void()> between = [] {};  ///< called now and then while somebody waits

 private:
  void pause(std::uint32_t) override { network.run_for(1'000); }
  std::function<std::uint64_t()> now_us() {
    return [this] { return network.now() / 1000; };
  }
  void work() {
    network.run_for(500);
    for (const auto& node : nodes_) {
      if (node == nullptr) continue;
      node->poll();
      if (node->id() != resting) node->service().step(network.now() / 1000);
    }
    between();
  }

  CallQueue* const calls_;
  std::array<std::unique_ptr<TestNode>, 3> nodes_;

 public:
  rdma::fiber::Scheduler scheduler{[this] { work(); }, *this};
};

}  // namespace granary::cluster::messages
