#include "src/cc/claim_shared.h"
#include "src/cc/silo/silo.h"

namespace granary::cc::silo {

AbortReason Silo::claim_shared(record::SharedRecord& record, const WorkerState& worker) {
  const base::SoftTime* const time = worker.shared.time;
  return cc::claim_shared(record, worker, base::kBoundedPauses, [time](record::StateWord state) {
    return record::OwnerRule::with_leases(time).allows(state);
  });
}

}  // namespace granary::cc::silo
