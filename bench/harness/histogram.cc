#include "bench/harness/histogram.h"

#include <algorithm>

namespace granary::bench {

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

std::uint64_t Histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  // Rounded to the nearest count, as in HdrHistogram: 99.9 % of 1000 values are 999, despite errors of floating point.
  const double share = std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(count_);
  const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(share + 0.5));
  if (wanted >= count_) return max_;
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted) {
      const std::uint64_t low = bucket_low(bucket);
      return std::clamp(low + (bucket_high(bucket) - low) / 2, min_, max_);
    }
  }
  return max_;
}

}  // namespace granary::bench
