#pragma once
// Why the body of a commit or a transaction in an HTM region says no.

#include <cstdint>

#include <granary/outcome.h>

#include "htm/region.h"

namespace granary::cc {

enum Refusal : std::uint8_t {
  kPlanOutdated,
  kWriteLocked,
  kReadChanged,
  kReadLocked,
  kNodeChanged,
  kLeaseOver,
  kBeyondRegion,
  kHeldElsewhere
};

/// The reason to abort, if a region has seen one that waiting does not mend; kNone: to be done with locks.
inline AbortReason reason_of(const htm::Ending& ending) {
  if (ending.cause != htm::Cause::kExplicit || !ending.verdict.is_final()) return AbortReason::kNone;
  switch (ending.verdict.code()) {
    case kReadChanged: return AbortReason::kReadChanged;
    case kNodeChanged: return AbortReason::kNodeChanged;
    case kLeaseOver: return AbortReason::kLeaseExpired;
    default: return AbortReason::kNone;
  }
}

}  // namespace granary::cc
