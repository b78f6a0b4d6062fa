#pragma once
// Is exactly what was written there again?

#include <granary/granary.h>

#include "bench/harness/workload.h"
#include "bench/recovery/contents.h"

namespace granary::bench::recovery {

/// Compares every key and value of the recovered table with what the load wrote last.
Result<Finding> verify(Database& database, const Load& load);

}  // namespace granary::bench::recovery
