#pragma once
// A Database's statistics as the runner wants them.

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
          .htm = statistics.htm};
}

}  // namespace granary::bench
