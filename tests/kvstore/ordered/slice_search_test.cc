// The vector comparisons of a node's slices, against plain loops: every position, equal and extreme slices.

#include "kvstore/ordered/slice_search.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "src/base/random.h"

namespace granary::kvstore::ordered {
namespace {

/// Slices that differ little, are extreme, or are anything.
std::uint64_t slice_of(base::Random& random) {
  constexpr std::uint64_t kExtremes[] = {0, 1, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 1,
                                         std::numeric_limits<std::uint64_t>::max()};
  switch (random.below(3)) {
    case 0: return random.below(20);
    case 1: return kExtremes[random.below(std::size(kExtremes))];
    default: return random.next();
  }
}

template <unsigned Count>
void compare_with_loops() {
  base::Random random(Count);
  for (int round = 0; round < 20'000; ++round) {
    std::atomic<std::uint64_t> plain[Count], ordered[Count];
    for (unsigned i = 0; i < Count; ++i) {
      plain[i] = slice_of(random);
      ordered[i] = to_signed_order(plain[i]);
    }
    const std::uint64_t wanted = random.chance(0.5) ? plain[random.below(Count)].load() : slice_of(random);
    unsigned equal = 0, greater = 0;
    for (unsigned i = 0; i < Count; ++i) {
      equal |= unsigned{plain[i] == wanted} << i;
      greater += plain[i] > wanted;
    }
    ASSERT_EQ(equal_slices(plain, wanted), equal);
    if constexpr (Count % 2 == 0) {
      ASSERT_EQ(count_greater_slices(ordered, to_signed_order(wanted)), greater);
    }
  }
}

TEST(SliceSearch, LeavesOfBothWidths) {
  compare_with_loops<15>();
  compare_with_loops<3>();
}

TEST(SliceSearch, InteriorNodesOfBothWidths) {
  compare_with_loops<16>();
  compare_with_loops<4>();
}

}  // namespace
}  // namespace granary::kvstore::ordered
