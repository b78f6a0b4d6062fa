#pragma once
// Computes the end of a wait that a caller has limited.

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace granary::base {

/// The longest time that any thread waits. A longer limit means as much, and the clock cannot count to the end of every
/// limit.
inline constexpr std::uint64_t kLongestWait_us = std::uint64_t{365} * 24 * 3600 * 1'000'000;

/// Returns the time so many microseconds from now, or kLongestWait_us from now if that is sooner.
inline std::chrono::steady_clock::time_point deadline_in(std::uint64_t microseconds) {
  return std::chrono::steady_clock::now() + std::chrono::microseconds(std::min(microseconds, kLongestWait_us));
}

}  // namespace granary::base
