#pragma once
// The time of one host, for nodes that are all processes of it: its monotonic clock, which nobody sets and which is the same in
// all of them, so that δ is 0. Processes may live in different time namespaces, which shift that clock; the shift is
// taken off again. Asked of the kernel itself, so that no library that fakes clocks comes in between.

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
  const std::int64_t shift_ns_;  ///< of this process's namespace
};

}  // namespace granary::cluster_config::clock
