#pragma once
// The part that stores share which are nodes of a cluster.

#include <memory>
#include <mutex>

#include <granary/cluster.h>

#include "bench/harness/database_figures.h"

namespace granary::bench::store {

class ClusterNode {
 public:
  explicit ClusterNode(std::unique_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {}

  /// Returns the cluster. Tables are made before the first worker.
  Cluster& cluster() { return *cluster_; }
  Status status() const { return cluster_->status(); }

  /// Returns a new worker. The first call starts the node, and so waits for the other nodes.
  Result<std::unique_ptr<ClusterWorker>> worker() {
    std::call_once(once_, [this] { started_ = cluster_->start(); });
    if (!started_.ok()) return started_;
    return cluster_->register_worker();
  }

  StoreFigures figures() const { return figures_of(cluster_->database()); }
  const Database* logged_database() const {
    const Database& database = cluster_->database();
    return database.options().directory.empty() ? nullptr : &database;
  }

  ClusterFigures cluster_figures() const { return figures_of(*cluster_); }

 private:
  const std::unique_ptr<Cluster> cluster_;
  std::once_flag once_;
  Status started_;
};

}  // namespace granary::bench::store
