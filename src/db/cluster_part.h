#pragma once
// What makes a database a node of a cluster.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/epoch/control_block.h"

namespace granary::db {

/// Another node's log, which holds writes of this node's records.
struct OtherLog {
  std::string directory;  ///< Options::directory of that node
  /// The node serves and goes on writing its log, of which everything up to this epoch is complete and synced: its
  /// running generation counts so far. None: nothing of a generation that is not over counts, as when all nodes start
  /// together.
  std::optional<epoch::Epoch> up_to{};
};

/// What was loaded from one log, for reports and messages.
struct LoadedLog {
  std::string directory;  ///< as it was named: the own one, or an OtherLog's
  std::optional<epoch::Epoch> up_to{};
  std::uint64_t bytes = 0;    ///< of the checkpoint, if it is the own one, and of the log
  std::uint64_t records = 0;  ///< of the checkpoint, and writes of this node's records
  double seconds = 0;
};
/// Returns it as one line.
std::string to_text(const LoadedLog& loaded);

struct ClusterPart {
  /// Zeroed memory that other nodes reach, and that outlives the database. None: a database alone.
  epoch::ControlBlock* control = nullptr;
  std::uint32_t node = 0;
  std::uint32_t life = 0;  ///< of the node, as its membership counts them
  /// The other nodes' logs. Until this node serves, none of them removes any.
  std::vector<OtherLog> others{};
  /// Whether the node comes back while others serve. It is to call Engine::note_admitted() then.
  bool returns = false;
  /// There are more such logs, on other hosts, or of nodes whose word has yet to be heard: what they have comes by
  /// Engine::take_from(), and until then there are no checkpoints.
  bool others_elsewhere = false;
  /// Not a node's opening, but one of the recovery of the whole cluster, which ends logs and serves nobody.
  bool recovers_all = false;
  /// Such a one of a single dead node, which frees what the node held: of its log only the part that its rings go on
  /// from is looked at.
  bool recent_log_only = false;
  /// E begins there or later: behind every epoch that any node ever used, so that none takes an older log for one that
  /// it has to go back with (recovery/cluster_cut.h). Of a node that comes back while others serve:
  /// first_epoch_behind() all that will be taken by Engine::take_from().
  epoch::Epoch first_epoch = 1;
};

/// Returns where E must begin at a node that loads transactions of epochs up to `loaded`: behind them, and so far that
/// its first snapshots see all that it has loaded.
constexpr epoch::Epoch first_epoch_behind(epoch::Epoch loaded, epoch::Epoch snapshot_epochs) {
  return loaded + 1 + 2 * snapshot_epochs;
}

}  // namespace granary::db
