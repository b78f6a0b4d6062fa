#pragma once
// What the stores have in common that are nodes of a cluster.

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include <granary/cluster.h>

#include "bench/harness/database_figures.h"

namespace granary::bench::store {

class ClusterNode {
 public:
  explicit ClusterNode(std::unique_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {}

  /// Before the first worker, tables are made.
  Cluster& cluster() { return *cluster_; }

  /// The first one waits for the other nodes.
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

  /// The share of transactions that touched other nodes, and what each of them cost on average.
  std::vector<ExtraFigure> extra_figures() const {
    const ClusterStatistics sums = cluster_->statistics();
    const auto ratio = [](std::uint64_t sum, std::uint64_t of) {
      return of == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(of);
    };
    const auto each = [&](std::uint64_t sum) { return ratio(sum, sums.transactions); };
    return {{"distributed_share", ratio(sums.transactions, cluster_->database().statistics().commits)},
            {"reads_each", each(sums.reads)},
            {"writes_each", each(sums.writes)},
            {"compare_swaps_each", each(sums.compare_swaps)},
            {"messages_each", each(sums.messages)},
            {"round_trips_each", each(sums.rounds)},
            {"epoch_waits_each", each(sums.epoch_waits)},
            {"location_hit_share",
             ratio(sums.location_hits, sums.location_hits + sums.location_misses + sums.location_stale)}};
  }

 private:
  const std::unique_ptr<Cluster> cluster_;
  std::once_flag once_;
  Status started_;
};

}  // namespace granary::bench::store
