#include "recovery/checkpoint/pacer.h"

#include <time.h>

namespace granary::recovery::checkpoint {
namespace {

/// Returns the calling thread's processor time.
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

Pacer::Clock::time_point Pacer::due() const {
  using Seconds = std::chrono::duration<double>;
  const Seconds time = Seconds(processor_time() - processor_began_) / duty_;
  return began_ + std::chrono::duration_cast<Clock::duration>(time);
}

}  // namespace granary::recovery::checkpoint
