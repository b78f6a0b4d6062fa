#pragma once
// The clocks of simulated nodes: each as wrong as the network has been told, all of them with the same bound.

#include <atomic>
#include <map>
#include <memory>

#include "rdma/sim/sim_network.h"
#include "src/base/soft_time.h"

namespace granary::cluster {

class SimClocks {
 public:
  SimClocks(const rdma::sim::SimNetwork& network, std::uint64_t error_us) : network_(network), error_us_(error_us) {}

  const base::SoftTime& of(rdma::NodeId node) {
    std::unique_ptr<base::SoftTime>& time = times_[node];
    if (time == nullptr) {
      time = std::make_unique<base::SoftTime>(base::TscClock::simulated(now_ns_), 10'000);
      write(node, *time);
    }
    return *time;
  }
  /// To be called whenever time has passed.
  void tick() {
    now_ns_ = network_.now();
    for (const auto& [node, time] : times_) write(node, *time);
  }
  /// From now on nobody knows the time.
  void stop() {
    for (const auto& [node, time] : times_) time->withdraw();
    stopped_ = true;
  }

 private:
  void write(rdma::NodeId node, base::SoftTime& time) const {
    if (!stopped_) time.write(network_.clock(node) / 1000, now_ns_, error_us_);
  }

  const rdma::sim::SimNetwork& network_;
  const std::uint64_t error_us_;
  std::atomic<std::uint64_t> now_ns_{0};
  std::map<rdma::NodeId, std::unique_ptr<base::SoftTime>> times_;
  bool stopped_ = false;
};

}  // namespace granary::cluster
