#include "src/cluster/transaction/record_reads.h"

#include "src/cluster/transaction/abort_reasons.h"

namespace granary::cluster {

AbortReason add_record_reads(Footprint& footprint, std::span<Access* const> accesses, Batch<CheckedRead>& reads,
                             Batch<AccessStep*>& steps) {
  for (const Access* const access : accesses) {
    void* const room = footprint.trips.buffer(access->record.bytes());
    if (room == nullptr) return AbortReason::kBuffersUsedUp;
    steps.push_back(&reads.emplace_back(access->record, room, access->lock.word));
  }
  return AbortReason::kNone;
}

AbortReason abort_reason_of_reads(const Footprint& footprint, const Batch<CheckedRead>& reads) {
  for (const CheckedRead& read : reads) {
    if (const AbortReason reason = abort_reason_of(read, read.state(), footprint.reach()); failed(reason))
      return reason;
  }
  return AbortReason::kNone;
}

AbortReason read_records(Footprint& footprint, TripPhase phase, std::span<Access* const> accesses,
                         Batch<CheckedRead>& reads) {
  Batch<AccessStep*> steps = footprint.trips.batch<AccessStep*>(accesses.size());
  if (const AbortReason reason = add_record_reads(footprint, accesses, reads, steps); failed(reason)) return reason;
  footprint.trips.run(phase, std::span<AccessStep* const>(steps));
  return abort_reason_of_reads(footprint, reads);
}

}  // namespace granary::cluster
