#pragma once
// Measures where the time of single transactions goes, for a benchmark's breakdown (bench/harness/breakdown.h). Without
// a measurement, it costs the test of a pointer at each search of an index.

#include <cstdint>

#include "src/base/tsc_clock.h"

namespace granary::cc {

/// Times in ticks of the database's TickMeter. Written by the worker's thread only.
struct TimedWork {
  std::uint64_t index = 0;    ///< spent in searches and inserts of indexes, without scans
  std::uint64_t waiting = 0;  ///< spent in pauses while waiting for others
};

/// Adds the time from its construction to its destruction to TimedWork::index, if somebody measures.
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
