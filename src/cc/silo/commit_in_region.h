#pragma once
// The same commit without locks: phases 1 to 3 in one HTM region.

#include <optional>

#include "src/cc/remote_part.h"
#include "src/cc/silo/commit.h"

namespace granary::cc::silo {

/// What a transaction across nodes brings along. All that it has read and will write elsewhere is held.
struct HeldElsewhere {
  epoch::Epoch epoch = 0;           ///< agreed on; 0: a transaction of this node only
  TidWord greatest_tid = 0;         ///< I1
  base::LeaseEnd until = kForever;  ///< when the first lease ends
  RemotePart* part = nullptr;

  static constexpr base::LeaseEnd kForever{.end_us = ~std::uint64_t{0}};
};

/// Commits or aborts a transaction that writes here; nothing if it has to be done with locks, and then nothing has happened.
/// Room in the log was reserved.
std::optional<CommitOutcome> commit_in_region(AccessSet& access, WorkerState& worker, const Right& right,
                                              const HeldElsewhere& elsewhere = {});

}  // namespace granary::cc::silo
