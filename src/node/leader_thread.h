#pragma once
// The thread that leads the cluster's epochs (I7) while this node is the leader of the configuration, and rests
// otherwise.

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

/// What `own` does as the leader of this configuration; without members if it does not lead it. `nodes`: all of the
/// cluster, ascending.
cluster::LeaderOptions leader_options(const membership::Configuration& configuration, membership::NodeId own,
                                      const std::vector<membership::NodeId>& nodes, std::uint64_t period_us);

class LeaderThread {
 public:
  /// `nodes`: all of the cluster, ascending. `buffer`: registered memory for so many, on a cache line's boundary.
  LeaderThread(rdma::Fabric& fabric, std::vector<membership::NodeId> nodes, std::uint64_t period_us, void* buffer);
  ~LeaderThread();
  LeaderThread(const LeaderThread&) = delete;
  LeaderThread& operator=(const LeaderThread&) = delete;

  /// From now on this configuration holds. Any thread.
  void follow(const membership::Configuration& configuration);
  /// OK, or why the epoch stays where it is: a member that does not answer, or no endpoint to ask with.
  Status status() const;
  /// If this node leads: the node for which E waits, at the last look; none if E advanced.
  std::optional<membership::NodeId> waits_for() const;
  /// If this node leads: the node whose log has the least, when E advanced last.
  std::optional<membership::NodeId> least_logged() const;

 private:
  void run();
  void lead(const cluster::LeaderOptions& options);
  bool superseded(const cluster::LeaderOptions& options) const;

  rdma::Fabric& fabric_;
  const std::vector<membership::NodeId> nodes_;
  const std::uint64_t period_us_;
  void* const buffer_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  cluster::LeaderOptions wanted_;  ///< without members: this node does not lead
  bool stopping_ = false;
  Status status_;
  std::optional<membership::NodeId> waits_for_;
  std::optional<membership::NodeId> least_logged_;
  std::thread thread_;
};

}  // namespace granary::db
