#pragma once
// Lists the codes with which the body of an HTM region ends it (htm::Verdict): why a commit in a region, or a
// transaction that runs in one (drtm/), cannot go on.

#include <cstdint>

#include <granary/outcome.h>

#include "htm/attempt.h"

namespace granary::cc {

enum class RegionCode : std::uint8_t {
  kPlanOutdated,  ///< E, or the TID word of a record to write, is not the one that the commit was prepared for
  kWriteLocked,   ///< a record to write is locked or held
  kReadChanged,   ///< a record that was read has another version
  kReadLocked,    ///< a record that was read, or is being read, is locked or x-locked
  kNodeChanged,   ///< a leaf or bucket of the node set has another version
  kLeaseOver,     ///< a lease on a record of another node is not valid any more
  kBeyondRegion,  ///< the transaction needs something that no region can do
  kHeldElsewhere  ///< another node holds a record to write (drtm/)
};

/// The body cannot go on now; a moment later it may.
constexpr htm::Verdict retry(RegionCode code) { return htm::Verdict::retry(static_cast<std::uint8_t>(code)); }
/// The body cannot go on, and to run it again is of no use.
constexpr htm::Verdict give_up(RegionCode code) { return htm::Verdict::give_up(static_cast<std::uint8_t>(code)); }
/// Returns the code with which a body has ended, if it is not done.
constexpr RegionCode code_of(const htm::Verdict& verdict) { return static_cast<RegionCode>(verdict.code()); }

/// Returns the reason to abort the transaction, if the region has seen one that neither waiting nor locks can help.
/// kNone: the commit goes on with locks.
inline AbortReason reason_of(const htm::Attempt& attempt) {
  if (attempt.cause != htm::Cause::kExplicit || !attempt.verdict.is_final()) return AbortReason::kNone;
  switch (code_of(attempt.verdict)) {
    case RegionCode::kReadChanged: return AbortReason::kReadChanged;
    case RegionCode::kNodeChanged: return AbortReason::kNodeChanged;
    case RegionCode::kLeaseOver: return AbortReason::kLeaseExpired;
    default: return AbortReason::kNone;
  }
}

}  // namespace granary::cc
