#pragma once
// No time that the nodes have in common: for nodes on several hosts whose clocks nobody keeps together. There is never a bound, so
// there are no leases.

#include "cluster_config/clock/system_time.h"
#include "cluster_config/clock/time_source.h"

namespace granary::cluster_config::clock {

class NoSource final : public TimeSource {
 public:
  /// Nobody slews this clock, so no jumps are counted that mean nothing.
  std::uint64_t time_us() override { return static_cast<std::uint64_t>(system_ns(CLOCK_MONOTONIC_RAW)) / 1000; }
  Bound bound(std::uint64_t) override {
    return Bound::none("the cluster file says that there is no clock; to have leases, use clock \"ptp\"");
  }
};

}  // namespace granary::cluster_config::clock
