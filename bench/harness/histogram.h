#pragma once
// A log-linear histogram in the manner of HdrHistogram. Its memory is fixed, a reported value is within 0.4 % of the
// recorded one, and recording takes a few instructions.
//
// Values below 256 have a bucket each; above, each power of two is cut into 128 buckets (src/base/log_linear.h). Values
// beyond kMaxValue count in the last bucket; minimum, maximum and sum are exact.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "src/base/log_linear.h"

namespace granary::bench {

class Histogram {
 public:
  using Buckets = base::LogLinear<7, 44>;
  static constexpr std::uint64_t kMaxValue = Buckets::kMaxValue;
  static constexpr std::size_t kBuckets = Buckets::kBuckets;

  void record(std::uint64_t value, std::uint64_t times = 1) {
    counts_[bucket_of(value)] += times;
    count_ += times;
    sum_ += value * times;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }

  void merge(const Histogram& other);
  void reset() { *this = Histogram(); }

  std::uint64_t count() const { return count_; }
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }

  /// Returns the middle of the bucket of the smallest value that at least `percent` % of the recorded ones do not
  /// exceed (0 < percent ≤ 100); 0 if nothing was recorded.
  std::uint64_t percentile(double percent) const;

  /// Calls `visit(middle, count)` for each bucket that counted something, in ascending order.
  template <typename Visit>
  void visit(Visit&& visit) const {
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      if (counts_[bucket] != 0)
        visit(bucket_low(bucket) + (bucket_high(bucket) - bucket_low(bucket)) / 2, counts_[bucket]);
    }
  }

  static constexpr std::size_t bucket_of(std::uint64_t value) { return Buckets::bucket_of(value); }
  static constexpr std::uint64_t bucket_low(std::size_t bucket) { return Buckets::bucket_low(bucket); }
  static constexpr std::uint64_t bucket_high(std::size_t bucket) { return Buckets::bucket_high(bucket); }

 private:
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kBuckets);  ///< 38 KiB, too much for a stack
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ = 0;
};

static_assert(Histogram::bucket_of(Histogram::kMaxValue) < Histogram::kBuckets);
static_assert(Histogram::bucket_low(Histogram::bucket_of(255)) == 255 && Histogram::bucket_high(255) == 255);
static_assert(Histogram::bucket_of(256) == Histogram::bucket_of(257) && Histogram::bucket_low(256) == 256);

}  // namespace granary::bench
