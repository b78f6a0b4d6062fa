#pragma once
// Draws timestamps, of which every transaction needs two (Yu et al., VLDB 2014, section 4.3; "TS_ALLOC" in TicToc's
// Figure 11).

#include <immintrin.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "src/base/cache_line.h"
#include "src/base/tsc_clock.h"

namespace granary::bench::hekaton {

using Timestamp = std::uint64_t;

enum class TimestampSource : std::uint8_t {
  kMutex,          ///< a counter behind a mutex
  kFetchAdd,       ///< a counter by atomic addition
  kHardwareClock,  ///< the processors' time stamp counter, which must be one for all of them
  kLocalClock,     ///< the system's monotonic clock
};

class Timestamps {
 public:
  /// Sessions are told apart by these bits of a clock's timestamp.
  static constexpr std::uint32_t kSessionBits = 9;

  explicit Timestamps(TimestampSource source) : source_(source) {
    if (source == TimestampSource::kHardwareClock) origin_ = read_behind_stores() - 1;
    if (source == TimestampSource::kLocalClock) origin_ = base::monotonic_ns() - 1;
  }

  /// Returns a timestamp that no other session gets. A counter's is greater than all that were drawn before this call
  /// began. A clock's is so as well if all processors' clocks agree and have gone on since.
  Timestamp next(std::uint32_t session) {
    switch (source_) {
      case TimestampSource::kMutex: {
        const std::lock_guard lock(mutex_);
        const Timestamp last = counter_.load(std::memory_order_relaxed);
        counter_.store(last + 1, std::memory_order_relaxed);
        return last + 1;
      }
      case TimestampSource::kFetchAdd: return counter_.fetch_add(1, std::memory_order_seq_cst) + 1;
      case TimestampSource::kHardwareClock: return ((read_behind_stores() - origin_) << kSessionBits) | session;
      case TimestampSource::kLocalClock: break;
    }
    return ((base::monotonic_ns() - origin_) << kSessionBits) | session;
  }
  /// Returns how many timestamps a counter has handed out; 0 of a clock.
  std::uint64_t drawn() const { return counter_.load(std::memory_order_relaxed); }

 private:
  /// Reads the time stamp counter. RDTSC alone may be executed before instructions that precede it in the program. Then
  /// a commit could read its time before others see that it takes its time (Shared::kTaking). A session that draws a
  /// later timestamp in between, and still sees the transaction as active, would expect a later end of it
  /// (Transaction::holds_at()). No instruction after LFENCE begins before all those that precede it have completed.
  /// That alone does not empty the store buffer, but the stores that matter here are sequentially consistent: each is
  /// an XCHG, which has completed only when its store is visible to all.
  ///
  /// The second LFENCE keeps later loads of other transactions' ends after the time. If two sessions read the same
  /// tick, the one with the lower number has the earlier time, whichever of them read it first.
  static std::uint64_t read_behind_stores() {
    _mm_lfence();
    const std::uint64_t ticks = __builtin_ia32_rdtsc();
    _mm_lfence();
    return ticks;
  }

  const TimestampSource source_;
  std::uint64_t origin_ = 0;  // a clock counts from here, so that no timestamp reaches kMark for months
  // The last timestamp of a counter. All sessions write and read it: under the mutex, and so relaxed, or by additions,
  // which are seq_cst so that they have one order with the stores and loads of Shared::end_of().
  alignas(base::kCacheLine) std::atomic<Timestamp> counter_{0};
  std::mutex mutex_;
};

}  // namespace granary::bench::hekaton
