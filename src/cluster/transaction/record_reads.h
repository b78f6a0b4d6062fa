#pragma once
// READs records whose places a transaction knows.

#include <span>

#include "src/cluster/record_access/checked_read.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

/// READs the records in one round, and adds a step for each of them to `reads`. All steps have succeeded if it returns
/// kNone. An x-lock of the transaction itself does not keep it from reading.
AbortReason read_records(Footprint& footprint, TripPhase phase, std::span<Access* const> accesses,
                         Batch<CheckedRead>& reads);

}  // namespace granary::cluster
