#pragma once
// Simulated nodes whose workers are fibers of one scheduler: node 1 owns the records, the others reach them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rdma/fiber/rounds.h"
#include "rdma/sim/sim_network.h"
#include "src/memory/region.h"
#include "tests/cluster/record_access/owned_record.h"

namespace granary::cluster {

inline constexpr rdma::NodeId kOwner = 1;

/// A life of a node that reaches others.
class SimRemote {
 public:
  SimRemote(rdma::sim::SimNetwork& network, rdma::NodeId id, rdma::Generation generation)
      : region_(memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value()),
        fabric_(network.open_fabric({.node = id, .generation = generation}).value()) {
    EXPECT_TRUE(fabric_->register_region({.id = 1, .access = rdma::Access::kLocal}, *region_).ok());
    EXPECT_TRUE(fabric_->listen().ok());
    endpoint_ = fabric_->open_endpoint().value();
    peers_ = std::make_unique<rdma::fiber::Peers>(*endpoint_);
    shared_ = std::make_unique<rdma::fiber::FiberEndpoint>(*endpoint_);
  }

  rdma::NodeId id() const { return fabric_->node().node; }
  rdma::Generation generation() const { return fabric_->node().generation; }
  rdma::fiber::Peers& peers() { return *peers_; }
  rdma::fiber::FiberEndpoint& shared() { return *shared_; }
  /// Registered memory, on a cache line's boundary; never given back.
  void* buffer(std::size_t bytes) {
    used_ = (used_ + base::kCacheLine - 1) & ~(base::kCacheLine - 1);
    void* const at = region_->base() + used_;
    used_ += bytes;
    EXPECT_LE(used_, region_->size());
    return at;
  }

 private:
  std::unique_ptr<memory::Region> region_;
  std::unique_ptr<rdma::Fabric> fabric_;
  std::unique_ptr<rdma::Endpoint> endpoint_;
  std::unique_ptr<rdma::fiber::Peers> peers_;
  std::unique_ptr<rdma::fiber::FiberEndpoint> shared_;
  std::uint64_t used_ = 0;
};

class SimNodes : private base::Waiter {
 public:
  SimNodes(const rdma::sim::SimOptions& options, unsigned remotes)
      : SimNodes(options, remotes, memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value()) {}
  /// With a region of the test's.
  SimNodes(const rdma::sim::SimOptions& options, unsigned remotes, std::shared_ptr<memory::Region> owned)
      : network(options),
        region(std::move(owned)),
        fabric_(network.open_fabric({.node = kOwner, .generation = 1}).value()) {
    EXPECT_TRUE(fabric_->register_region({.id = 1}, *region).ok());
    EXPECT_TRUE(fabric_->listen().ok());
    for (unsigned i = 0; i < remotes; ++i) {
      lives_.push_back(std::make_unique<SimRemote>(network, static_cast<rdma::NodeId>(kOwner + 1 + i), 1));
      EXPECT_TRUE(lives_.back()->peers().connect(kOwner, 0).ok());
    }
  }

  SimRemote& remote(unsigned number = 0) { return *lives_[number]; }
  /// The next life of a node that has crashed, or crashes now.
  SimRemote& restart(SimRemote& before) {
    network.crash(before.id());
    lives_.push_back(std::make_unique<SimRemote>(network, before.id(), before.generation() + 1));
    EXPECT_TRUE(lives_.back()->peers().connect(kOwner, 0).ok());
    return *lives_.back();
  }
  /// The owner's node ends, and what is in its region with it.
  void end_owner() { fabric_.reset(); }
  void begin_owner() {
    fabric_ = network.open_fabric({.node = kOwner, .generation = 2}).value();
    EXPECT_TRUE(fabric_->register_region({.id = 1}, *region).ok());
    EXPECT_TRUE(fabric_->listen().ok());
  }

  /// Runs steps in a fiber of a remote node until they have ended; `between` is called between rounds that want a
  /// pause.
  void run(std::vector<rdma::fiber::Step*> steps, std::function<void()> between = {}) {
    const Between waiter(scheduler, std::move(between));
    scheduler.spawn([&] {
      rdma::fiber::Rounds rounds(scheduler, remote().shared(), remote().peers(), const_cast<Between&>(waiter));
      rounds.run(steps);
    });
    scheduler.run();
  }

  rdma::sim::SimNetwork network;
  std::shared_ptr<memory::Region> region;
  std::function<void()> time_passed = [] {};  ///< called whenever it may have

 private:
  class Between final : public base::Waiter {
   public:
    Between(rdma::fiber::Scheduler& scheduler, std::function<void()> act)
        : scheduler_(scheduler),
          act_(std::move(act)) {}
    void pause(std::uint32_t) override {
      if (act_) act_();
      scheduler_.yield();
    }

   private:
    rdma::fiber::Scheduler& scheduler_;
    std::function<void()> act_;
  };

  void pause(std::uint32_t) override { network.step(); }
  void poll() {
    for (const auto& life : lives_) life->shared().poll();
    network.step();
    time_passed();
  }

  std::unique_ptr<rdma::Fabric> fabric_;
  std::vector<std::unique_ptr<SimRemote>> lives_;

 public:
  rdma::fiber::Scheduler scheduler{[this] { poll(); }, *this};
};

}  // namespace granary::cluster
