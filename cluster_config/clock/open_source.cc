#include "cluster_config/clock/open_source.h"

#include "cluster_config/clock/host_source.h"
#include "cluster_config/clock/no_source.h"
#include "cluster_config/clock/ptp_source.h"

namespace granary::cluster_config::clock {
namespace {

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
