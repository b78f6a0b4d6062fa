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

  explicit Timestamps(TimestampSource source) : source_(source) {}

  /// A timestamp that nobody else gets, greater than any that was handed out before this call began. Of clocks it is so
  /// as far as all processors' clocks agree.
  Timestamp next(std::uint32_t session) {
    switch (source_) {
      case TimestampSource::kMutex: {
        const std::lock_guard lock(mutex_);
        const Timestamp last = counter_.load(std::memory_order_relaxed);
        counter_.store(last + 1, std::memory_order_relaxed);
        return last + 1;
      }
      case TimestampSource::kFetchAdd: return counter_.fetch_add(1, std::memory_order_seq_cst) + 1;
      case TimestampSource::kHardwareClock: return (read_behind_stores() << kSessionBits) | session;
      case TimestampSource::kLocalClock: break;
    }
    return (base::monotonic_ns() << kSessionBits) | session;
  }
  /// Returns how many timestamps a counter has handed out; 0 of a clock.
  std::uint64_t drawn() const { return counter_.load(std::memory_order_relaxed); }

 private:
  /// Reads the time stamp counter. RDTSC alone may be executed before what precedes it in the program. Then a commit
  /// could read its time before others see that it takes its time (Shared::kTaking): somebody who draws a later
  /// timestamp in between, and sees the transaction active still, would expect its end to be later, too
  /// (Transaction::holds_at()). LFENCE lets nothing behind it begin before all before it has completed. That alone does
  /// not empty the store buffer, but the stores that matter here are sequentially consistent: XCHG, which has completed
  /// only when its store is visible to all.
  ///
  /// The second LFENCE keeps later looks at other transactions behind the time. Two sessions may read the same tick:
  /// then the lower session has the earlier time, whichever of them read it first.
  static std::uint64_t read_behind_stores() {
    _mm_lfence();
    const std::uint64_t ticks = __builtin_ia32_rdtsc();
    _mm_lfence();
    return ticks;
  }

  const TimestampSource source_;
  alignas(base::kCacheLine) std::atomic<Timestamp> counter_{0};  // relaxed under the mutex
  std::mutex mutex_;
};

}  // namespace granary::bench::hekaton
