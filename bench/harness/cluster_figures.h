#pragma once
// What the transactions of a run did at other nodes of its cluster: counts, which add up over nodes, and what follows
// from them.

#include <cstdint>
#include <string>
#include <vector>

#include <granary/cluster.h>

namespace granary::bench {

struct ExtraFigure;

struct ClusterFigures {
  std::string start = {};      ///< which one of the cluster it was (Cluster::start_id())
  std::uint64_t attempts = 0;  ///< all transactions, committed or aborted
  ClusterStatistics elsewhere;
  ClockStatus clock;

  /// Another node's to this one's. The clock is then the worst of both.
  void add(const ClusterFigures& other);
  /// What was counted since then.
  ClusterFigures since(const ClusterFigures& before) const;
};

/// The share of transactions that touched other nodes, what each of those cost, and how often the location cache knew
/// the place.
std::vector<ExtraFigure> ratios(const ClusterFigures& figures);

/// A count of ClusterStatistics and its name, for JSON.
struct NamedCount {
  const char* name;
  std::uint64_t ClusterStatistics::*count;
};
const std::vector<NamedCount>& cluster_counts();

}  // namespace granary::bench
