#pragma once
// Leads the cluster's epochs (I7), with a thread, while this node is the leader of the configuration.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cluster_config/membership/configuration.h"
#include "rdma/fabric.h"
#include "src/cluster/cluster_epoch/leader.h"

namespace granary::db {

/// Returns the options by which `own` leads this configuration; they have no members if it does not lead it. `nodes`
/// are all of the cluster, ascending.
cluster::LeaderOptions leader_options(const membership::Configuration& configuration, membership::NodeId own,
                                      const std::vector<membership::NodeId>& nodes, std::uint64_t period_us);

class LeaderThread {
 public:
  /// `nodes` are all of the cluster, ascending. `buffer` is registered memory for so many, on a cache line's boundary.
  LeaderThread(rdma::Fabric& fabric, std::vector<membership::NodeId> nodes, std::uint64_t period_us, void* buffer);
  ~LeaderThread();
  LeaderThread(const LeaderThread&) = delete;
  LeaderThread& operator=(const LeaderThread&) = delete;

  /// Leads by this configuration from now on, if this node is its leader. Any thread may call it.
  void follow(const membership::Configuration& configuration);
  /// Returns why the epoch stays where it is: a member does not answer, or there is no endpoint to ask with. OK if it
  /// does not, or if this node does not lead.
  Status status() const;
  /// Returns the node for which E waited at the last look; nothing if E advanced, or if this node does not lead.
  std::optional<membership::NodeId> waits_for() const;
  /// Returns the node whose log had the least when E advanced last; nothing if this node does not lead.
  std::optional<membership::NodeId> least_logged() const;

 private:
  void run();
  void lead(const cluster::LeaderOptions& options);
  bool superseded(const cluster::LeaderOptions& options) const;

  rdma::Fabric& fabric_;
  const std::vector<membership::NodeId> nodes_;
  const std::uint64_t period_us_;
  void* const buffer_;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  cluster::LeaderOptions wanted_;  ///< has no members if this node does not lead
  bool stopping_ = false;
  Status status_;
  std::optional<membership::NodeId> waits_for_;
  std::optional<membership::NodeId> least_logged_;
  std::thread thread_;
};

}  // namespace granary::db
