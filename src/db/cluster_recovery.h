#pragma once
// Does the part of the recovery of a whole cluster on which all nodes must agree: it decides up to which epoch their
// logs count. Each node then takes its own records from all logs when it opens (ClusterPart::others).

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <granary/options.h>
#include <granary/status.h>

#include "src/base/file.h"
#include "src/epoch/epoch.h"

namespace granary::db {

struct ClusterRecoveryReport {
  unsigned interrupted = 0;  ///< how many nodes had not ended in order
  /// The epoch to the end of which all nodes went back; if it is not set, nothing that committed is missing.
  std::optional<epoch::Epoch> cut{};
  std::vector<std::string> notes{};  ///< RecoveryReport::notes of all nodes
};

/// Ends the logs that nodes were writing when they stopped, and makes durable on all nodes which epochs are void,
/// before any of them opens. `nodes` has the options of all nodes that ever had data, except those that have begun
/// since the last recovery of all nodes and have yet to serve; only the directories in them count. Directories that are
/// not there yet are left alone. A call that was cut short may be repeated, with the same result.
Result<ClusterRecoveryReport> recover_cluster(std::span<const Options> nodes, base::FileSystem& files);

}  // namespace granary::db
