#include "recovery/checkpoint/pacer.h"

#include <time.h>

#include <algorithm>

namespace granary::recovery::checkpoint {
namespace {

/// Of the calling thread.
Pacer::Clock::duration processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

void Pacer::begin() {
  began_ = Clock::now();
  processor_began_ = processor_time();
}

Pacer::Clock::time_point Pacer::due(std::uint64_t bytes) const {
  using Seconds = std::chrono::duration<double>;
  Seconds time = Seconds(processor_time() - processor_began_) / duty_;
  if (bytes_per_second_ != 0) time = std::max(time, Seconds(static_cast<double>(bytes) / bytes_per_second_));
  return began_ + std::chrono::duration_cast<Clock::duration>(time);
}

}  // namespace granary::recovery::checkpoint
