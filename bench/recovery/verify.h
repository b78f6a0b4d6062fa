#pragma once
// Verifies that exactly the data that were written are there again.

#include <granary/granary.h>

#include "bench/harness/early_end.h"
#include "bench/harness/workload.h"
#include "bench/recovery/contents.h"

namespace granary::bench::recovery {

/// Compares every key and value of the recovered table with the last write of the load. Asks `end` now and then; if a
/// stop was requested, the finding means nothing.
Result<Finding> verify(Database& database, const Load& load, const EarlyEnd& end = EarlyEnd(nullptr));

}  // namespace granary::bench::recovery
