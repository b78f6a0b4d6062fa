#include "bench/harness/cluster_figures.h"

#include <algorithm>

#include "bench/harness/workload.h"

namespace granary::bench {

const std::vector<NamedCount>& cluster_counts() {
  using S = ClusterStatistics;
  static const std::vector<NamedCount> counts{{"distributed", &S::transactions},
                                              {"reads", &S::reads},
                                              {"writes", &S::writes},
                                              {"compare_swaps", &S::compare_swaps},
                                              {"messages", &S::messages},
                                              {"leases", &S::leases},
                                              {"round_trips", &S::rounds},
                                              {"execute_rounds", &S::execute_rounds},
                                              {"lock_rounds", &S::lock_rounds},
                                              {"agree_rounds", &S::agree_rounds},
                                              {"validate_rounds", &S::validate_rounds},
                                              {"write_back_rounds", &S::write_back_rounds},
                                              {"epoch_waits", &S::epoch_waits},
                                              {"location_hits", &S::location_hits},
                                              {"location_misses", &S::location_misses},
                                              {"location_stale", &S::location_stale},
                                              {"leaf_reads", &S::leaf_reads},
                                              {"leaf_hits", &S::leaf_hits},
                                              {"leaf_misses", &S::leaf_misses},
                                              {"leaf_stale", &S::leaf_stale},
                                              {"unfinished", &S::unfinished},
                                              {"cut_off", &S::cut_off}};
  return counts;
}

void ClusterFigures::add(const ClusterFigures& other) {
  attempts += other.attempts;
  for (const NamedCount& each : cluster_counts()) elsewhere.*each.count += other.elsewhere.*each.count;
  clock.jumps += other.clock.jumps;
  if (!clock.synchronized) return;
  if (other.clock.synchronized) {
    clock.delta_us = std::max(clock.delta_us, other.clock.delta_us);
  } else {
    clock.synchronized = false;
    clock.state = other.clock.state;
  }
}

ClusterFigures ClusterFigures::since(const ClusterFigures& before) const {
  ClusterFigures difference = *this;
  difference.attempts -= before.attempts;
  for (const NamedCount& each : cluster_counts()) difference.elsewhere.*each.count -= before.elsewhere.*each.count;
  return difference;
}

std::vector<ExtraFigure> ratios(const ClusterFigures& figures) {
  const ClusterStatistics& sums = figures.elsewhere;
  const auto ratio = [](std::uint64_t sum, std::uint64_t of) {
    return of == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(of);
  };
  std::vector<ExtraFigure> all{{"distributed_share", ratio(sums.transactions, figures.attempts)}};
  for (const NamedCount& each : cluster_counts()) {
    const std::string name = each.name;
    const bool of_cache = name.starts_with("location_") || (name.starts_with("leaf_") && name != "leaf_reads");
    if (of_cache || name == "distributed" || name == "unfinished" || name == "cut_off") continue;
    all.push_back({name + "_each", ratio(sums.*each.count, sums.transactions)});
  }
  all.push_back({"location_hit_share",
                 ratio(sums.location_hits, sums.location_hits + sums.location_misses + sums.location_stale)});
  all.push_back({"leaf_hit_share", ratio(sums.leaf_hits, sums.leaf_hits + sums.leaf_misses + sums.leaf_stale)});
  return all;
}

}  // namespace granary::bench
