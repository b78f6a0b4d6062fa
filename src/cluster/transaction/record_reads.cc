#include "src/cluster/transaction/record_reads.h"

#include "src/cluster/transaction/abort_reasons.h"

namespace granary::cluster {

AbortReason read_records(Footprint& footprint, TripPhase phase, std::span<Access* const> accesses,
                         Batch<CheckedRead>& reads) {
  Batch<AccessStep*> steps = footprint.trips.batch<AccessStep*>(accesses.size());
  for (const Access* const access : accesses) {
    void* const room = footprint.trips.buffer(access->record.bytes());
    if (room == nullptr) return AbortReason::kBuffersUsedUp;
    steps.push_back(&reads.emplace_back(access->record, room, access->lock.word));
  }
  footprint.trips.run(phase, std::span<AccessStep* const>(steps));
  for (const CheckedRead& read : reads) {
    if (const AbortReason reason = abort_reason_of(read, read.state(), footprint.reach()); failed(reason))
      return reason;
  }
  return AbortReason::kNone;
}

}  // namespace granary::cluster
