#pragma once
// The processor time of a thread, which tells whether it has slept or spun while it waited.

#include <time.h>

namespace granary::tests {

/// Returns the processor time that the calling thread has taken so far, in seconds.
inline double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace granary::tests
