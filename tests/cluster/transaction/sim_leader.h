#pragma once
// The leader of epochs of a simulated cluster: the real one, in a fiber.

#include <memory>
#include <optional>

#include "src/cluster/cluster_epoch/leader.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {

/// The node leads as long as `goes_on` says so, which is asked after each look with the report of a turn, if there was
/// one. With a scheduler of its own, as in a real node; its waits let the world go on.
inline void lead_epochs(SimCluster& cluster, unsigned node, const LeaderOptions& options,
                        const std::function<bool(const std::optional<TurnReport>&)>& goes_on) {
  SimClusterNode& mine = cluster.node(node);
  const std::unique_ptr<rdma::Endpoint> endpoint = mine.fabric().open_endpoint().value();
  rdma::fiber::Peers peers(*endpoint);
  rdma::fiber::FiberEndpoint shared(*endpoint);
  NoRest rest;
  rdma::fiber::Scheduler own(
      [&] {
        shared.poll();
        cluster.scheduler.yield();
      },
      rest);
  char* const buffer = mine.buffers().take(BufferPool::kChunkBytes);
  own.spawn([&] {
    rdma::fiber::FiberWaiter waiter(own);
    EpochLeader leader(options, {own, shared, peers, waiter, buffer});
    while (goes_on(leader.step(cluster.network.now() / 1000))) own.yield();
  });
  own.run();
  mine.buffers().give_back(buffer, BufferPool::kChunkBytes);
}

}  // namespace granary::cluster::test
