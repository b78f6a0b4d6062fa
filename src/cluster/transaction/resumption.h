#pragma once
// Resumes a step over new connections after its connection broke. Only the next connection shows what became of a lock
// or a write-back (I5).

#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

/// How often a lock or a write-back is resumed over a new connection.
inline constexpr unsigned kMostResumptions = 8;

/// Resumes an XLock or a Release whose connection broke, kMostResumptions times at most. If the step ends with kBroken
/// all the same, it counts as unfinished.
template <typename Resumable>
void resume_broken(Footprint& footprint, TripPhase phase, Resumable& step) {
  for (unsigned turn = 0; step.outcome() == AccessOutcome::kBroken; ++turn) {
    if (turn == kMostResumptions || !footprint.touched.reconnect(step.node())) {
      cc::bump(footprint.reach().counters.unfinished, std::uint64_t{1});
      return;
    }
    step.resume();
    footprint.trips.run(phase, step);
  }
}

}  // namespace granary::cluster
