#pragma once
// How far the logs of a cluster's nodes count after some of them have not ended in order. A transaction is in the log of its
// coordinator, and others depend on it: so either nothing that committed is missing anywhere, or all nodes go back to one epoch.

#include <optional>
#include <span>
#include <vector>

#include "recovery/manifest.h"

namespace granary::recovery {

/// What one node's directory tells.
struct NodeLogState {
  /// The generation that was running when the node stopped; none if it ended in order.
  struct Running {
    epoch::Epoch first_epoch = 1;
    epoch::Epoch durable = 0;  ///< D of its log
    bool rings = false;        ///< its rings are there, so that nothing of it is missing
  };
  /// An earlier agreement, perhaps one that was cut short before all nodes had heard of it: epochs above `cut` and below
  /// `until` are void.
  struct Agreed {
    epoch::Epoch cut = 0;
    epoch::Epoch until = 0;
  };
  std::optional<Running> running{};
  std::vector<Agreed> agreed{};
};

NodeLogState state_of(const Manifest& manifest, epoch::Epoch durable, bool rings);

/// For each node: the epoch up to which its running generation counts; none: all of it does, rings included, or there is
/// none. The same whoever asks, and again if it was carried out for some of the nodes only.
std::vector<std::optional<epoch::Epoch>> agree_on_cuts(std::span<const NodeLogState> nodes);

}  // namespace granary::recovery
