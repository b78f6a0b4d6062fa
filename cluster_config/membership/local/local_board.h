#pragma once
// The board of processes on one host: files of a run directory (membership_files.h). A process's death is seen within
// milliseconds, since the system then closes its mark and its bell (bells.h). A process that is merely stopped keeps
// its mark, so a membership is valid as long as the process lives.

#include <memory>
#include <string>

#include <granary/status.h>

#include "cluster_config/membership/board.h"

namespace granary::membership {

/// kUnavailable if the directory, which exists, cannot be used. Below it, all is in `membership/`. A node that stands
/// still for `timeout_us` loses its mark, to whichever other node notices first.
Result<std::unique_ptr<Board>> open_local_board(const std::string& run_directory, std::uint64_t timeout_us);

}  // namespace granary::membership
