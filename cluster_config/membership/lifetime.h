#pragma once
// Reads the clock of memberships.

#include <cstdint>
#include <limits>

namespace granary::membership {

/// Returns CLOCK_BOOTTIME in microseconds. It never jumps, and runs on while the process is stopped or the machine
/// suspended.
std::uint64_t lifetime_us();

/// A time that never comes.
inline constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();

}  // namespace granary::membership
