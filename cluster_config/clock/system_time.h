#pragma once
// Reads the system's clocks from the kernel itself and not from a library.

#include <cstdint>

#include <sys/syscall.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): POSIX
#include <unistd.h>

namespace granary::cluster_config::clock {

inline std::int64_t system_ns(clockid_t clock) {
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace granary::cluster_config::clock
