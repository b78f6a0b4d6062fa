#pragma once
// Counts how long the committed transactions of one worker took, from begin to the end of the commit. One in kSampled
// is counted. Times are in ticks of the database's TickMeter; the reader of the statistics converts them, as a
// conversion would cost more than all the rest.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/cache_line.h"
#include "src/base/counter.h"
#include "src/base/log_linear.h"

namespace granary::txn {

/// Written by the worker only (plain relaxed stores), read by statistics; on cache lines of its own.
class alignas(base::kCacheLine) CommitLatencies {
 public:
  /// Each value is told with an error of at most 6 %. Values of more than two hours of ticks count as two hours.
  using Buckets = base::LogLinear<3, 44>;
  static constexpr std::uint64_t kSampled = 64;

  /// Whether the transaction with this serial is counted. These transactions are spread as if at random, so that an
  /// application which does different things in turn is sampled as a whole.
  static constexpr bool samples(std::uint64_t serial) {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    return serial * kGoldenRatio < ~std::uint64_t{0} / kSampled;
  }

  void record(std::uint64_t ticks) {
    base::bump(counts_[Buckets::bucket_of(ticks)]);
    base::bump(sum_, ticks);
  }

  std::uint64_t count(std::size_t bucket) const { return counts_[bucket].load(std::memory_order_relaxed); }
  std::uint64_t sum_ticks() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> sum_{0};
  std::array<std::atomic<std::uint64_t>, Buckets::kBuckets> counts_{};
};

}  // namespace granary::txn
