#pragma once
// Has the workers of a cluster's node that ask other nodes: those that the application registers, each with a number of
// its own, and those of the node itself. Sums up the counts of all of them, also of those that are gone.

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
  /// The application's workers have the numbers below `most`, which the cluster file `file` sets for this node.
  ClusterThreads(NodeNumber node, std::uint32_t most, std::string file);
  /// Precondition: no worker is there, since workers use the database and the parts, which are gone before.
  ~ClusterThreads();

  /// Sets the database and the parts of the node. They outlive the workers.
  void begin(Database& database, cluster::NodeParts& parts) {
    database_ = &database;
    parts_ = &parts;
  }
  /// Notes that the cluster has started, so that the application may register workers.
  void admit() {
    const std::lock_guard lock(mutex_);
    admits_ = true;
  }
  /// Notes that the node has left the cluster, so that nobody registers a worker any more.
  void leave() {
    const std::lock_guard lock(mutex_);
    admits_ = false;
    left_ = true;
  }

  Result<std::unique_ptr<ClusterThread>> register_worker();
  /// Makes a worker for the node itself, after begin().
  Result<std::unique_ptr<ClusterThread>> open(WorkerNumber number) { return open(std::move(number), *parts_); }
  /// Makes one with other parts of the node, which outlive the worker.
  Result<std::unique_ptr<ClusterThread>> open(WorkerNumber number, cluster::NodeParts& parts);
  /// Ends a worker of register_worker(). If it leaves records locked at nodes that live, it stays here, with its number
  /// and with their names in its log's lock-ahead record, until give_back_left() has given them back.
  void end(std::unique_ptr<ClusterThread> thread);
  /// Tries to give back the records that ended workers have left locked, for each worker if it is time to. A worker is
  /// destroyed when none is left: all were given back, or their homes have died, in which case recovery frees them.
  /// Waits once for each home that does not answer, and for answers to messages::NoteRemoved. Once the node has left
  /// (leave()), it returns when it has tried for one worker. One thread calls it, until drop_left().
  void give_back_left();
  /// Tries once more for all of these workers, whenever the last try was: a home may have healed since. The node's
  /// leaving calls it before drop_left(), when nobody calls give_back_left() any more.
  void give_back_at_last();
  /// Destroys the workers that still have left records locked, which then counts as left_locks().
  void drop_left();
  /// Returns kFailedPrecondition, with their numbers, if workers of register_worker() are still there.
  Status check_none_registered() const;
  ClusterStatistics statistics() const;
  /// Whether a worker that was destroyed has left records locked at nodes that live.
  bool left_locks() const {
    const std::lock_guard lock(mutex_);
    return left_locks_;
  }

 private:
  void count_in(ClusterThread& thread);
  bool has_left() const {
    const std::lock_guard lock(mutex_);
    return left_;
  }
  std::vector<ClusterThread*> left_threads() const;
  /// Destroys the worker, which has ended, if it has left no records locked any more.
  void drop_if_free(ClusterThread& thread);

  const NodeNumber node_;
  const std::uint32_t most_;
  const std::string file_;
  Database* database_ = nullptr;
  cluster::NodeParts* parts_ = nullptr;

  mutable std::mutex mutex_;  // guards the members below
  bool admits_ = false;
  bool left_ = false;
  std::vector<ClusterThread*> threads_;
  /// The ended workers that have left records locked. They are among threads_ as well.
  std::vector<std::unique_ptr<ClusterThread>> left_threads_;
  std::vector<std::uint32_t> free_numbers_;
  ClusterStatistics ended_;  ///< counts of threads that are gone
  bool left_locks_ = false;
};

}  // namespace granary::db
