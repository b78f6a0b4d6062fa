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

struct DriveOptions {
  int patience_ms = 10'000;  ///< for nodes that were asked to stop, before they are killed
  int go_on_ms = 0;          ///< for which the others go on after a node has failed, before they are asked to stop
};

/// Returns when all have ended. If one fails other than by a failed check (kCheckFailed), the others are asked to stop
/// (SIGTERM) after `go_on_ms`, and killed if they have not within `patience_ms` more. A stop signal is passed on once.
DriveResult drive(const std::vector<NodeCommand>& commands, const StopSignals& signals,
                  const DriveOptions& options = {});

}  // namespace granary::bench::cluster
