// Has the steps of TicToc's commits in HTM regions that are taken outside of the region.

#include "src/cc/tictoc/region_steps.h"

#include <algorithm>

#include "src/base/shared_words.h"
#include "src/cc/tictoc/version_ends.h"

namespace granary::cc::tictoc {
namespace {

/// Returns the least time at which the record may be written because of the rts that other nodes have given it.
TidWord after_others_rts(const record::SharedRecord& record) {
  return rts_of_state(record.state()) + record::make_tid(0, 1);
}

}  // namespace

/// For the first write of a record, stamp() has to find the times at which keys of its table were missed. This node put
/// the record into the index before, maybe a moment ago by this very thread. The fetch-or changes nothing, but is the
/// full fence between that store and the loads of the times, as the compare-and-swap of a lock bit is where there are
/// locks (miss_times.h). No test of the program sees it missing, since the stores are late by nanoseconds alone; the
/// model does (tests/models/tictoc_phantom_region.pml, NO_FENCE).
bool RegionSteps::plan(const WriteEntry& write, const WorkerState& /*worker*/, TidWord& planned, TidWord& bound) {
  if (record::tid_of(write.record->tid()) == 0) base::fetch_or_word(&write.record->tid_word, 0);
  if (!plan_write(write, record::OwnerRule::without_leases(), planned)) return false;
  if (record::is_shared(write.record)) bound = std::max(bound, after_others_rts(record::shared_of(*write.record)));
  return true;
}

/// The end of the old version is known to be true only now. A transaction that has found the new version before aborts
/// as if nothing were remembered.
void RegionSteps::installed_in_region(const WriteEntry& write, WorkerState& worker, TidWord planned, TidWord tid) {
  VersionEnds* const ends = worker.shared.version_ends;
  if (ends != nullptr && !record::is_shared(write.record)) ends->note(write.record, planned, tid);
  cc::installed_in_region(write, worker, planned, tid);
}

}  // namespace granary::cc::tictoc
