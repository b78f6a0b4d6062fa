#pragma once
// Decides how far the logs of a cluster's nodes count after some of the nodes have not ended in order. A transaction is
// in the log of its coordinator, and others depend on it. So either no committed transaction is missing anywhere, or
// all nodes go back to one epoch.
//
// The agreement may be cut short after any node has done its part, and things that were there before may be gone when
// it is taken up again (rings, by a loss of power). So everything that an ended node has beyond an agreed epoch is void
// as well, whether the node ended in order or a recovery that was cut short had saved its rings. No node begins a
// generation before all have done their part. So if a node has begun one since, everything that was agreed before has
// been carried out everywhere.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "recovery/manifest.h"

namespace granary::recovery {

/// Tells of the last generation that a node began, by its directory; of no generation if there was none.
struct NodeLogState {
  /// Tells of a generation that was not ended in order.
  struct Running {
    epoch::Epoch durable = 0;  ///< D of the node's log
    bool rings = false;        ///< whether its rings are there, so that nothing of the generation is missing
    bool operator==(const Running&) const = default;
  };
  std::optional<Running> running{};
  epoch::Epoch over = 0;                 ///< if the generation has ended: the epoch up to which it counts
  std::optional<epoch::Epoch> agreed{};  ///< that epoch, if all nodes agreed on it
  epoch::Epoch first_epoch = 1;          ///< greater than every epoch that the node ever used
  epoch::Epoch released = 0;             ///< up to this epoch results are known to be released: all logs had them
  bool operator==(const NodeLogState&) const = default;
};

/// Returns the state of a node. `running` counts if the last generation runs. If that generation is empty, because its
/// node came back and was never let in, it does not restrict the others: they have gone on without the node, and have
/// released more than its log has. `released` is known from the log.
NodeLogState state_of(const Manifest& manifest, const NodeLogState::Running& running, epoch::Epoch first_epoch,
                      epoch::Epoch released);

/// Says how one node's log must be changed.
struct NodeLogEnd {
  bool needed = false;
  /// The epoch up to which the log counts; none: all of it does, rings included.
  std::optional<epoch::Epoch> cut{};
};

/// Returns a node whose log has less than was released, so that going back to its end would lose released results: its
/// data are an older copy, or the device has lost what had been synced. Returns nothing if there is no such node.
std::optional<std::size_t> short_of_released(std::span<const NodeLogState> nodes);
/// Returns the error for such a node. `where` is the node's directory, or says which node it is.
Status lost_released(std::span<const NodeLogState> nodes, std::size_t node, const std::string& where);
/// Returns the change for each node. Every node computes the same changes, even if some of the nodes have carried
/// theirs out already.
std::vector<NodeLogEnd> agree_on_ends(std::span<const NodeLogState> nodes);
/// Returns the epoch with which all nodes that have ended begin again: it is after every epoch that any node ever used.
epoch::Epoch first_epoch_after(std::span<const NodeLogState> nodes);

/// Returns the state as one line. log_state_of() reads it, and returns kDamaged if the text, which may be anything, is
/// no such line.
std::string to_text(const NodeLogState& state);
Result<NodeLogState> log_state_of(std::string_view text);

}  // namespace granary::recovery
