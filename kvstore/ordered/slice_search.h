#pragma once
// Compares all slices of a node with one slice, two in each instruction and without a branch.
//
// The holder of the node's lock writes the slices with release stores. They are loaded with acquire, as in
// shared_words.h: two at a time, or one by one under ThreadSanitizer.

#include <nmmintrin.h>

#include <atomic>
#include <cstdint>

#include "src/base/shared_words.h"

namespace granary::kvstore::ordered {

/// Maps slices to numbers whose signed order is the order of the slices, since the instruction compares signed numbers.
inline std::uint64_t to_signed_order(std::uint64_t slice) { return slice ^ (std::uint64_t{1} << 63); }

/// Returns a mask in which bit i is set if slices[i] is `wanted`.
template <unsigned Count>
unsigned equal_slices(const std::atomic<std::uint64_t> (&slices)[Count], std::uint64_t wanted) {
  unsigned equal = 0;
  if constexpr (base::kThreadSanitizer) {
    for (unsigned i = 0; i < Count; ++i) equal |= unsigned{slices[i].load(std::memory_order_acquire) == wanted} << i;
    return equal;
  }
  const __m128i both = _mm_set1_epi64x(static_cast<long long>(wanted));
#pragma GCC unroll 8
  for (unsigned i = 0; i + 1 < Count; i += 2) {
    const __m128i same = _mm_cmpeq_epi64(base::load_two_words(&slices[i]), both);
    equal |= static_cast<unsigned>(_mm_movemask_pd(_mm_castsi128_pd(same))) << i;
  }
  if (Count % 2 != 0) equal |= unsigned{slices[Count - 1].load(std::memory_order_relaxed) == wanted} << (Count - 1);
  base::acquire_loads();
  return equal;
}

/// Returns how many slices are greater than `wanted`. All are in to_signed_order().
template <unsigned Count>
unsigned count_greater_slices(const std::atomic<std::uint64_t> (&slices)[Count], std::uint64_t wanted) {
  static_assert(Count % 2 == 0, "pad with slices that are greater than all");
  if constexpr (base::kThreadSanitizer) {
    unsigned greater = 0;
    for (const auto& slice : slices)
      greater += unsigned{static_cast<std::int64_t>(slice.load(std::memory_order_acquire)) >
                          static_cast<std::int64_t>(wanted)};
    return greater;
  }
  const __m128i both = _mm_set1_epi64x(static_cast<long long>(wanted));
  __m128i sums[2] = {};  // sums of -1 for each hit; two of them, to halve the chain of additions
#pragma GCC unroll 8
  for (unsigned i = 0; i < Count; i += 2)
    sums[i / 2 % 2] = _mm_add_epi64(sums[i / 2 % 2], _mm_cmpgt_epi64(base::load_two_words(&slices[i]), both));
  const __m128i sum = _mm_add_epi64(sums[0], sums[1]);
  base::acquire_loads();
  return static_cast<unsigned>(-(_mm_cvtsi128_si64(sum) + _mm_extract_epi64(sum, 1)));
}

}  // namespace granary::kvstore::ordered
