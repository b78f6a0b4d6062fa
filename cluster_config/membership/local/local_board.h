#pragma once
// Opens the board of processes on one host: files of a run directory (membership_files.h). A process's death is seen
// within milliseconds, since the system then closes its mark and its bell (bells.h). A process that is merely stopped
// keeps its mark, so a membership is valid as long as the process lives, unless other nodes condemn it (heartbeat.h).

#include <memory>
#include <string>

#include <granary/status.h>

#include "cluster_config/membership/board.h"

namespace granary::membership {

/// Opens the board. Returns kUnavailable if the directory, which exists, cannot be used. Everything is in `membership/`
/// below it. If a node stands still for `timeout_us`, the first other node that notices takes its mark away.
Result<std::unique_ptr<Board>> open_local_board(const std::string& run_directory, std::uint64_t timeout_us);

}  // namespace granary::membership
