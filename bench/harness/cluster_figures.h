#pragma once
// Counts what the transactions of a run did at other nodes of its cluster. The counts add up over nodes, and ratios
// follow from them.

#include <cstdint>
#include <string>
#include <vector>

#include <granary/cluster.h>

namespace granary::bench {

struct ExtraFigure;

struct ClusterFigures {
  std::string start = {};      ///< the start of the cluster that it belongs to (Cluster::start_id())
  std::uint64_t attempts = 0;  ///< all transactions, committed or aborted
  ClusterStatistics elsewhere;
  ClockStatus clock;

  /// Adds another node's figures to this one's. The clock's bound is then the worst of both.
  void add(const ClusterFigures& other);
  /// Returns the counts since `before`.
  ClusterFigures since(const ClusterFigures& before) const;
};

/// Returns the share of transactions that touched other nodes, the cost of each of those, and how often the location
/// cache knew the place.
std::vector<ExtraFigure> ratios(const ClusterFigures& figures);

/// A count of ClusterStatistics and its name in JSON.
struct NamedCount {
  const char* name;
  std::uint64_t ClusterStatistics::*count;
};
const std::vector<NamedCount>& cluster_counts();

}  // namespace granary::bench
