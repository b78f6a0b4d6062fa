#include "cluster_config/clock/open_source.h"

#include "cluster_config/clock/host_source.h"
#include "cluster_config/clock/ptp_source.h"
#include "cluster_config/clock/system_time.h"

namespace granary::cluster_config::clock {
namespace {

/// Has no time that the nodes share: for nodes on several hosts whose clocks are not kept together. There is never a
/// bound, so there are no leases.
class NoSource final : public TimeSource {
 public:
  /// Returns a clock that is never slewed, so no jumps are counted that mean nothing.
  std::uint64_t time_us() override { return static_cast<std::uint64_t>(system_ns(CLOCK_MONOTONIC_RAW)) / 1000; }
  Bound bound(std::uint64_t) override {
    return Bound::none("the cluster file says that there is no clock; to have leases, use clock \"ptp\"");
  }
};

template <typename Source>
Result<std::unique_ptr<TimeSource>> any(Result<std::unique_ptr<Source>> opened) {
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<TimeSource>(std::move(opened).value());
}

}  // namespace

Result<std::unique_ptr<TimeSource>> open_source(const ClockConfig& config) {
  if (config.kind == ClockKind::kHost) return any(HostSource::open());
  if (config.kind == ClockKind::kNone) return std::unique_ptr<TimeSource>(std::make_unique<NoSource>());
  return any(PtpSource::open({.socket = config.pmc_socket,
                              .domain = config.domain,
                              .grandmaster = config.grandmaster,
                              .max_error_us = config.max_error_us}));
}

}  // namespace granary::cluster_config::clock
