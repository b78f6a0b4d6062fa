#pragma once
// Says what makes a database a node of a cluster: its part of the cluster, and the other nodes' logs that it loads.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/epoch/control_block.h"

namespace granary::db {

/// Another node's log, which holds writes of this node's records.
struct OtherLog {
  std::string directory;  ///< Options::directory of that node
  /// If set, that node serves and goes on writing its log. Everything up to this epoch is complete and synced there, so
  /// its running generation counts up to it. If not, nothing of a generation that is not over counts, as when all nodes
  /// start together.
  std::optional<epoch::Epoch> up_to{};
};

/// Tells, for reports and messages, what was loaded from one log.
struct LoadedLog {
  std::string directory;  ///< as it was named: the node's own, or an OtherLog's
  std::optional<epoch::Epoch> up_to{};
  std::uint64_t bytes = 0;    ///< bytes of the log; of the node's own, also those of its checkpoint
  std::uint64_t records = 0;  ///< writes of this node's records; of its own log, also records of its checkpoint
  double seconds = 0;
};
/// Returns one line that tells it.
std::string to_text(const LoadedLog& loaded);

struct ClusterPart {
  /// Zeroed memory that other nodes reach, and that outlives the database. nullptr: the database does not serve in a
  /// cluster.
  epoch::ControlBlock* control = nullptr;
  std::uint32_t node = 0;
  std::uint32_t life = 0;  ///< the node's present life, as its membership counts them
  /// The other nodes' logs to load when the database opens. Until this node serves, no node removes any log.
  std::vector<OtherLog> others{};
  /// Whether the node calls Engine::note_admitted() before its first transaction. As long as it has not, its log counts
  /// as empty in a recovery.
  bool notes_admission = false;
  /// Whether there are more logs to load, in directories that this node does not see. Engine::take_from() loads them
  /// later, and there are no checkpoints until all of them are loaded.
  bool others_elsewhere = false;
  /// Whether the directory is opened for a recovery, which ends logs and serves nobody, instead of by its node.
  bool recovers_all = false;
  /// Whether that recovery is of a single dead node, to free what the node held. Then only the part of its log is
  /// scanned that its rings go on from.
  bool recent_log_only = false;
  /// The first epoch that E may have. It is behind every epoch that any node ever used, so that no node takes an older
  /// log for one that it has to go back with (recovery/cluster_cut.h). For a node that comes back while others serve,
  /// it is first_epoch_behind() all that Engine::take_from() will load.
  epoch::Epoch first_epoch = 1;
};

/// Returns where E must begin at a node that loads transactions of epochs up to `loaded`: behind them, and so far that
/// its first snapshots see all that it has loaded.
constexpr epoch::Epoch first_epoch_behind(epoch::Epoch loaded, epoch::Epoch snapshot_epochs) {
  return loaded + 1 + 2 * snapshot_epochs;
}

}  // namespace granary::db
