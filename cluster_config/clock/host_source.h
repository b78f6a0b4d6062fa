#pragma once
// Reads the time of one host, for nodes that are all processes of it: CLOCK_MONOTONIC_RAW. It is never set or slewed,
// and is the same in all processes, so δ is 0. (Daemons that keep the system's time slew CLOCK_MONOTONIC, by up to 10
// %.) Processes may live in different time namespaces, which shift both monotonic clocks alike; the shift is
// subtracted. The kernel itself is asked, so that no library that fakes clocks comes in between.

#include <memory>

#include <granary/status.h>

#include "cluster_config/clock/time_source.h"

namespace granary::cluster_config::clock {

class HostSource final : public TimeSource {
 public:
  static Result<std::unique_ptr<HostSource>> open();

  std::uint64_t time_us() override;
  Bound bound(std::uint64_t) override { return Bound::within(0); }

 private:
  explicit HostSource(std::int64_t shift_ns) : shift_ns_(shift_ns) {}
  const std::int64_t shift_ns_;  ///< the shift of this process's namespace
};

}  // namespace granary::cluster_config::clock
