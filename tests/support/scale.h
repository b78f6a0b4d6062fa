#pragma once
// How much a randomized test does: `scaled(150)` rounds are 150, or more in `scripts/test.sh --full`.

#include <cstdint>
#include <cstdlib>

#include "src/base/sanitizers.h"

namespace granary::tests {

/// `rounds` times the environment's GRANARY_TEST_SCALE (default 1); ctest's time limits grow with it.
inline std::uint64_t scaled(std::uint64_t rounds) {
  const char* const scale = std::getenv("GRANARY_TEST_SCALE");
  const std::uint64_t factor = scale == nullptr ? 1 : std::strtoull(scale, nullptr, 10);
  return factor == 0 ? rounds : rounds * factor;
}

/// For rounds that each stand for themselves, such as seeds: under AddressSanitizer a quarter, as what it looks for shows in
/// few of them, and all run without it.
inline std::uint64_t sampled(std::uint64_t rounds) {
  return base::kAddressSanitizer ? (scaled(rounds) + 3) / 4 : scaled(rounds);
}

}  // namespace granary::tests
