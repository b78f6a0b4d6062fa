#pragma once
// Determines how much a randomized test does: `scaled(150)` rounds are 150, or more in `scripts/test.sh --full`.

#include <cstdint>
#include <cstdlib>

#include "src/base/sanitizers.h"

namespace granary::tests {

/// Whether the program runs all of its tests once more, in HTM regions (`--htm=sim` or `--htm=rtm`). Set by main().
inline bool once_more = false;

/// Returns `rounds` times the environment's GRANARY_TEST_SCALE (default 1); ctest's time limits grow with it. In a
/// quick run of a program that runs once more it returns half of that, as most of what the rounds look for does not
/// depend on how a transaction commits.
inline std::uint64_t scaled(std::uint64_t rounds) {
  const char* const scale = std::getenv("GRANARY_TEST_SCALE");
  const std::uint64_t factor = scale == nullptr ? 1 : std::strtoull(scale, nullptr, 10);
  const std::uint64_t all = factor == 0 ? rounds : rounds * factor;
  return once_more && factor <= 1 ? (all + 1) / 2 : all;
}

/// Returns the number of rounds that take long. A quick run does three fifths of scaled(), and `scripts/test.sh --full`
/// does all of it.
inline std::uint64_t thinned(std::uint64_t rounds) {
  const std::uint64_t all = scaled(rounds);
  return all <= rounds ? (3 * all + 4) / 5 : all;
}

/// Returns the number of rounds that each stand for themselves, such as seeds. Under AddressSanitizer it is a quarter
/// of scaled(), as the errors that it looks for show in few rounds, and all rounds run without it.
inline std::uint64_t sampled(std::uint64_t rounds) {
  return base::kAddressSanitizer ? (scaled(rounds) + 3) / 4 : scaled(rounds);
}

}  // namespace granary::tests
