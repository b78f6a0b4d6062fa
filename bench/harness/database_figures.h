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
          .page_kind = database.page_kind()};
}

}  // namespace granary::bench
