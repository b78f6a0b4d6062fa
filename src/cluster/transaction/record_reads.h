#pragma once
// READs records whose places a transaction knows.

#include <span>

#include "src/cluster/record_access/checked_read.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

/// Adds a step that READs the record to `reads` and `steps`, for each of the accesses. An x-lock of the transaction
/// itself does not keep it from reading. Returns kBuffersUsedUp if there is no memory for the records.
AbortReason add_record_reads(Footprint& footprint, std::span<Access* const> accesses, Batch<CheckedRead>& reads,
                             Batch<AccessStep*>& steps);
/// Returns kNone if all of these steps, which have been run, have succeeded, or why the transaction must end.
AbortReason abort_reason_of_reads(const Footprint& footprint, const Batch<CheckedRead>& reads);
/// READs the records in one round, and adds a step for each of them to `reads`. All steps have succeeded if it returns
/// kNone.
AbortReason read_records(Footprint& footprint, TripPhase phase, std::span<Access* const> accesses,
                         Batch<CheckedRead>& reads);

}  // namespace granary::cluster
