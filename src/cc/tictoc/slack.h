#pragma once
// Tells how far a reader raises an rts.

#include "src/epoch/epoch.h"
#include "src/record/tid.h"

namespace granary::cc::tictoc {

/// How much further than needed the rts of a version of an earlier epoch is raised, so that the next readers find it raised. Writers of
/// such records, which are few, jump over it. It stays in the epoch.
inline constexpr record::TidWord kSlack = record::make_tid(0, 64);

/// The rts for a version with this wts that shall be valid until `stamp`, a time of this epoch.
constexpr record::TidWord raised(record::TidWord wts, record::TidWord stamp, epoch::Epoch epoch) {
  if (record::epoch_of(wts) == epoch) return stamp;
  const record::TidWord last = record::make_tid(epoch, record::kMaxSequence);
  return last - stamp < kSlack ? last : stamp + kSlack;
}

}  // namespace granary::cc::tictoc
