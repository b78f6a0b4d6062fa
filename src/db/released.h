#pragma once
// D, up to which results may be shown: what the log of this node has made durable, in a cluster what the logs of all
// nodes have.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include <granary/status.h>

#include "src/epoch/epoch.h"
#include "src/log/log.h"

namespace granary::db {

epoch::Epoch durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log);

/// What keeps D where it is, in a sentence, as far as this node knows; empty if it knows nothing.
using Obstacle = std::function<std::string()>;

/// When a wait for D is given up, besides that what it waits for cannot happen.
struct ReleasePatience {
  std::uint64_t timeout_us = log::DurableEpoch::kForever;
  const std::atomic<bool>* cancel = nullptr;  ///< set: at once
  const Obstacle* obstacle = nullptr;         ///< for the message
  bool by_hand = false;                       ///< for the message: D moves on by Database::step() alone
};

/// Waits until D ≥ epoch, or tells why that will not happen, as far as this node knows; kUnavailable when patience is
/// at its end.
Status wait_durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log, epoch::Epoch epoch,
                               const ReleasePatience& patience);

}  // namespace granary::db
