#pragma once
// Where the time of single transactions goes, for who measures that (bench/harness/breakdown.h). Off, it costs the test of a pointer at each
// search of an index.

#include <cstdint>

#include "src/base/tsc_clock.h"

namespace granary::cc {

/// Ticks of the database's TickMeter. Written by the worker's thread only.
struct TimedWork {
  std::uint64_t index = 0;    ///< in searches and inserts of indexes, scans left out
  std::uint64_t waiting = 0;  ///< in pauses of waits for others
};

/// Adds the time of its own life to TimedWork::index, if somebody measures.
class IndexTime {
 public:
  IndexTime(TimedWork* work, const base::TickMeter& meter) : work_(work), meter_(meter) {
    if (work_ != nullptr) [[unlikely]]
      began_ = meter.ticks();
  }
  ~IndexTime() {
    if (work_ != nullptr) [[unlikely]]
      work_->index += meter_.ticks() - began_;
  }
  IndexTime(const IndexTime&) = delete;
  IndexTime& operator=(const IndexTime&) = delete;

 private:
  TimedWork* const work_;
  const base::TickMeter& meter_;
  std::uint64_t began_ = 0;
};

}  // namespace granary::cc
