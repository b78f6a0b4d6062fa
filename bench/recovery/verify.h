#pragma once
// Is exactly what was written there again?

#include <granary/granary.h>

#include "bench/harness/early_end.h"
#include "bench/harness/workload.h"
#include "bench/recovery/contents.h"

namespace granary::bench::recovery {

/// Compares every key and value of the recovered table with what the load wrote last. `end` is asked for after some
/// keys at a time; if it was requested, the finding means nothing.
Result<Finding> verify(Database& database, const Load& load, const EarlyEnd& end = EarlyEnd(nullptr));

}  // namespace granary::bench::recovery
