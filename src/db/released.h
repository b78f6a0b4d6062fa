#pragma once
// D, up to which results may be shown: what the log of this node has made durable, in a cluster what the logs of all nodes have.

#include <atomic>

#include <granary/status.h>

#include "src/epoch/epoch.h"
#include "src/log/log.h"

namespace granary::db {

epoch::Epoch durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log);

/// Waits until D ≥ epoch, or tells why that will not happen, as far as this node knows; kUnavailable once `cancel` is set.
Status wait_durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log, epoch::Epoch epoch,
                               const std::atomic<bool>* cancel = nullptr);

}  // namespace granary::db
