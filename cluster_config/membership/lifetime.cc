#include "cluster_config/membership/lifetime.h"

#include <ctime>

namespace granary::membership {

std::uint64_t lifetime_us() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace granary::membership
