#pragma once
// Runs all nodes of a cluster on this host to their ends, and brings them together at their meetings
// (bench/harness/rendezvous.h).

#include <string>
#include <vector>

#include "bench/harness/exit_code.h"
#include "bench/harness/stop_signals.h"

namespace granary::bench::cluster {

struct NodeCommand {
  std::string label;               ///< before each line of its output
  std::vector<std::string> words;  ///< program and arguments
};

struct DriveResult {
  ExitCode code = ExitCode::kOk;  ///< of the first node that failed
  std::string message = {};       ///< which one, and how
};

/// Returns when all have ended. If one fails other than by a failed check (kCheckFailed), the others are asked to stop
/// (SIGTERM), and killed if they have not within `patience_ms`. A stop signal is passed on once.
DriveResult drive(const std::vector<NodeCommand>& commands, const StopSignals& signals, int patience_ms = 10'000);

}  // namespace granary::bench::cluster
