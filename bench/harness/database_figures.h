#pragma once
// Converts a Database's statistics to the runner's figures.

#include <numeric>

#include <granary/cluster.h>
#include <granary/granary.h>

#include "bench/harness/workload.h"

namespace granary::bench {

inline StoreFigures figures_of(const Database& database) {
  const Statistics statistics = database.statistics();
  return {.memory_bytes = statistics.reserved_bytes,
          .records_bytes = statistics.records_bytes,
          .index_bytes = statistics.index_bytes,
          .version_bytes = statistics.version_bytes,
          .garbage_items = statistics.garbage_items,
          .epoch = statistics.epoch,
          .durable_epoch = statistics.durable_epoch,
          .log_bytes = statistics.log_bytes,
          .log_entries = statistics.log_entries,
          .log_syncs = statistics.log_syncs,
          .ring_waits = statistics.ring_waits,
          .checkpoints = statistics.checkpoints,
          .checkpoint_bytes = statistics.checkpoint_bytes,
          .checkpoint_seconds = statistics.checkpoint_seconds,
          .page_kind = database.page_kind(),
          .protocol = database.options().protocol,
          .htm = statistics.htm};
}

/// Returns what the transactions of this node have done at other nodes so far.
inline ClusterFigures figures_of(Cluster& cluster) {
  const Statistics sums = cluster.database().statistics();
  return {.start = cluster.start_id(),
          .attempts = std::accumulate(sums.aborts.begin(), sums.aborts.end(), sums.commits),
          .elsewhere = cluster.statistics(),
          .clock = cluster.clock()};
}

}  // namespace granary::bench
