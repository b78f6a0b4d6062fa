#pragma once
// Computes the buckets of a log-linear histogram, in the manner of HdrHistogram. Each value below 2^(sub_bits + 1) has
// a bucket of its own; above, each power of two is cut into 2^sub_bits buckets. Values beyond kMaxValue count in the
// last bucket.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace granary::base {

template <unsigned sub_bits, unsigned value_bits>
struct LogLinear {
  static constexpr unsigned kSubBits = sub_bits;
  static constexpr unsigned kValueBits = value_bits;
  static constexpr std::uint64_t kMaxValue = (std::uint64_t{1} << kValueBits) - 1;
  static constexpr std::size_t kBuckets = (kValueBits - kSubBits + 1) << kSubBits;

  static constexpr std::size_t bucket_of(std::uint64_t value) {
    if (value > kMaxValue) value = kMaxValue;
    const unsigned top_bit = 63u - static_cast<unsigned>(std::countl_zero(value | (std::uint64_t{1} << kSubBits)));
    const unsigned shift = top_bit - kSubBits;
    return (static_cast<std::size_t>(shift) << kSubBits) + static_cast<std::size_t>(value >> shift);
  }
  /// Returns the smallest value that counts in a bucket; bucket_high() returns the largest.
  static constexpr std::uint64_t bucket_low(std::size_t bucket) {
    const std::size_t octave = bucket >> kSubBits;
    const std::size_t shift = octave == 0 ? 0 : octave - 1;
    return static_cast<std::uint64_t>(bucket - (shift << kSubBits)) << shift;
  }
  static constexpr std::uint64_t bucket_high(std::size_t bucket) { return bucket_low(bucket + 1) - 1; }
};

}  // namespace granary::base
