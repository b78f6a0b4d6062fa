#pragma once
// Opens the source of time that the cluster file names.

#include <memory>

#include <granary/status.h>

#include "cluster_config/clock/time_source.h"
#include "cluster_config/config.h"

namespace granary::cluster_config::clock {

Result<std::unique_ptr<TimeSource>> open_source(const ClockConfig& config);

}  // namespace granary::cluster_config::clock
