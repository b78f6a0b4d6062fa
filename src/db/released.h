#pragma once
// Waits for D, the epoch up to which results may be shown. It is what the log of this node has made durable, or in a
// cluster, what the logs of all nodes have.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include <granary/status.h>

#include "src/epoch/epoch.h"
#include "src/log/log.h"

namespace granary::db {

/// Returns D.
epoch::Epoch durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log);

/// Tells in a sentence what keeps D where it is, as far as this node knows; returns nothing if it does not know.
using Obstacle = std::function<std::string()>;

/// Says when a wait for D is given up although D may still come to the epoch.
struct ReleasePatience {
  std::uint64_t timeout_us = log::DurableEpoch::kForever;
  const std::atomic<bool>* cancel = nullptr;  ///< when it becomes true, the wait ends at once
  const Obstacle* obstacle = nullptr;         ///< for the message
  bool by_hand = false;                       ///< for the message: whether D moves on by Database::step() alone
};

/// Waits until D ≥ epoch, or returns why that will not happen, as far as this node knows; kUnavailable when patience
/// ends.
Status wait_durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log, epoch::Epoch epoch,
                               const ReleasePatience& patience);

}  // namespace granary::db
