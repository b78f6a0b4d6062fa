#pragma once
// Recovery of a whole cluster, the part that all nodes must agree on: up to which epoch their logs count. Each node
// then takes what is its own from all logs when it opens (ClusterPart::others).

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
  unsigned interrupted = 0;  ///< nodes that had not ended in order
  /// All went back to the end of this epoch; none: nothing that committed is missing.
  std::optional<epoch::Epoch> cut{};
  std::vector<std::string> notes{};  ///< as RecoveryReport::notes, with the directories
};

/// Ends the logs that nodes were writing when they stopped, and makes durable on all nodes which epochs are void,
/// before any of them opens. `nodes`: all nodes that ever had data, but those that have begun since all were recovered
/// and have yet to serve; of each the directories count. Directories that are not there yet are left alone. It may be
/// repeated if it was cut short: the result is the same.
Result<ClusterRecoveryReport> recover_cluster(std::span<const Options> nodes, base::FileSystem& files);

}  // namespace granary::db
