#pragma once
// Says how far a TicToc reader raises an rts. Used at the owner (validate.cc, shared_record.cc) and at other nodes
// (src/cluster/transaction/read_checks.cc). The slack is ours, not the paper's.

#include "src/epoch/epoch.h"
#include "src/record/tid.h"

namespace granary::cc::tictoc {

/// How much further than needed the rts of a version of an earlier epoch is raised, so that the next readers find it
/// raised. Such versions are seldom overwritten, and a writer takes a time behind the slack.
inline constexpr record::TidWord kSlack = record::make_tid(0, 64);

/// Returns the rts for a version with this wts that has to be valid until `stamp`. Both the stamp and the result are
/// times of `epoch`.
constexpr record::TidWord raised(record::TidWord wts, record::TidWord stamp, epoch::Epoch epoch) {
  if (record::epoch_of(wts) == epoch) return stamp;
  const record::TidWord last = record::make_tid(epoch, record::kMaxSequence);
  return last - stamp < kSlack ? last : stamp + kSlack;
}

}  // namespace granary::cc::tictoc
