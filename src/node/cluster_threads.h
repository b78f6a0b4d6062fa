#pragma once
// The workers of a cluster's node that ask other nodes: those that the application registers, each with a number of its
// own, and those of the node itself; and what all of them did, also those that are gone.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <granary/cluster.h>

#include "src/node/cluster_thread.h"

namespace granary::db {

/// Thread-safe, but for begin().
class ClusterThreads {
 public:
  /// The application's have the numbers below `most`, as the cluster file `file` has it for this node.
  ClusterThreads(NodeNumber node, std::uint32_t most, std::string file);

  /// All that is passed outlives the workers.
  void begin(Database& database, cluster::NodeParts& parts) {
    database_ = &database;
    parts_ = &parts;
  }
  /// The cluster has started: the application may register workers.
  void admit() {
    const std::lock_guard lock(mutex_);
    admits_ = true;
  }
  /// The node has left the cluster: nobody registers a worker any more.
  void leave() {
    const std::lock_guard lock(mutex_);
    admits_ = false;
    left_ = true;
  }

  Result<std::unique_ptr<ClusterThread>> register_worker();
  /// Makes a worker for the node itself, after begin().
  Result<std::unique_ptr<ClusterThread>> open(WorkerNumber number) { return open(std::move(number), *parts_); }
  /// The same with other parts of the node, which outlive the worker.
  Result<std::unique_ptr<ClusterThread>> open(WorkerNumber number, cluster::NodeParts& parts);
  /// kFailedPrecondition, with their numbers, if workers of register_worker() are there.
  Status check_none_registered() const;
  ClusterStatistics statistics() const;
  /// Whether a worker that is gone has left records locked at nodes that live.
  bool left_locks() const {
    const std::lock_guard lock(mutex_);
    return left_locks_;
  }

 private:
  void count_in(ClusterThread& thread);

  const NodeNumber node_;
  const std::uint32_t most_;
  const std::string file_;
  Database* database_ = nullptr;
  cluster::NodeParts* parts_ = nullptr;

  mutable std::mutex mutex_;  // guards what follows
  bool admits_ = false;
  bool left_ = false;
  std::vector<ClusterThread*> threads_;
  std::vector<std::uint32_t> free_numbers_;
  ClusterStatistics ended_;  ///< of threads that are gone
  bool left_locks_ = false;
};

}  // namespace granary::db
