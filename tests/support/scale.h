#pragma once
// How much a randomized test does: `scaled(150)` rounds are 150, or more in `scripts/test.sh --full`.

#include <cstdint>
#include <cstdlib>

namespace granary::tests {

/// `rounds` times the environment's GRANARY_TEST_SCALE (default 1); ctest's time limits grow with it.
inline std::uint64_t scaled(std::uint64_t rounds) {
  const char* const scale = std::getenv("GRANARY_TEST_SCALE");
  const std::uint64_t factor = scale == nullptr ? 1 : std::strtoull(scale, nullptr, 10);
  return factor == 0 ? rounds : rounds * factor;
}

}  // namespace granary::tests
