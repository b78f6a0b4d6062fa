#pragma once
// Lists how a step on another node's record can end.

#include <cstdint>
#include <string_view>

namespace granary::cluster {

enum class AccessOutcome : std::uint8_t {
  kOpen,     ///< has not ended
  kDone,     ///< read, unchanged, held, or given back
  kMissing,  ///< the record is absent: the key has no value
  kMoved,    ///< another key, another incarnation or not the latest: forget the location and look the key up again
  kChanged,  ///< not the TID that was read
  kBusy,     ///< was locked by another holder, or changing, at every look
  kNoTime,   ///< the clock is not known well enough for leases (I9): take an x-lock instead
  kNotHeld,  ///< the x-lock was not taken before the connection broke, or is not ours any more
  kBroken,   ///< the connection broke; the operations that were posted took effect, or not
  kStale,    ///< the node has begun another life
  kRefused,  ///< the location is outside of the node's regions: damage
};

std::string_view name(AccessOutcome outcome);

}  // namespace granary::cluster
