#pragma once
// How far the logs of a cluster's nodes count after some of them have not ended in order. A transaction is in the log
// of its coordinator, and others depend on it: so either nothing that committed is missing anywhere, or all nodes go
// back to one epoch.
//
// Agreeing may be cut short after any node has done its part, and what was there before may be gone when it is taken up
// again (rings, by a loss of power). So everything that an ended node has beyond an agreed epoch is void as well,
// whether the node ended in order or a recovery that was cut short had saved its rings. No node begins a generation
// before all have done their part. So a node that has begun one since shows that everything that was agreed before has
// been carried out everywhere.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "recovery/manifest.h"

namespace granary::recovery {

/// The last generation that a node began, as its directory tells it; nothing if there was none.
struct NodeLogState {
  /// The generation was not ended in order.
  struct Running {
    epoch::Epoch durable = 0;  ///< D of its log
    bool rings = false;        ///< its rings are there, so that nothing of it is missing
    bool operator==(const Running&) const = default;
  };
  std::optional<Running> running{};
  epoch::Epoch over = 0;                 ///< it has ended, and counts up to there
  std::optional<epoch::Epoch> agreed{};  ///< since all agreed on that
  epoch::Epoch first_epoch = 1;          ///< behind every epoch that the node ever used
  epoch::Epoch released = 0;             ///< up to there results are known to have been released: all logs had that
  bool operator==(const NodeLogState&) const = default;
};

/// `running` counts if the last generation runs. One that is empty, since its node came back and was never let in,
/// restricts nobody: the others have gone on without it, and what they have released is beyond its log. `released` is
/// known from the log.
NodeLogState state_of(const Manifest& manifest, const NodeLogState::Running& running, epoch::Epoch first_epoch,
                      epoch::Epoch released);

/// The change that must be made to one node's log.
struct NodeLogEnd {
  bool needed = false;
  /// The log counts up to there; none: all of it does, rings included.
  std::optional<epoch::Epoch> cut{};
};

/// Returns a node whose log has less than what was released, so that going back to it would lose that: its data are an
/// older copy, or what had been synced is lost. Returns nothing if no node is like that.
std::optional<std::size_t> short_of_released(std::span<const NodeLogState> nodes);
/// Returns the error for that: `where` is the node's directory, or who it is.
Status lost_released(std::span<const NodeLogState> nodes, std::size_t node, const std::string& where);
/// The change for each node. Every node computes the same, also when a change was carried out for some of the nodes
/// only.
std::vector<NodeLogEnd> agree_on_ends(std::span<const NodeLogState> nodes);
/// The epoch with which all nodes that were ended begin again: after every epoch that any node ever used.
epoch::Epoch first_epoch_after(std::span<const NodeLogState> nodes);

/// Writes the state as one line, and reads it; kDamaged if the text, which may be anything, is no such line.
std::string to_text(const NodeLogState& state);
Result<NodeLogState> log_state_of(std::string_view text);

}  // namespace granary::recovery
