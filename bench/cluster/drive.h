#pragma once
// Runs all nodes of a cluster on this host to their ends, and brings them together at their meetings
// (bench/harness/rendezvous.h).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/exit_code.h"
#include "bench/harness/stop_signals.h"

namespace granary::bench::cluster {

struct NodeCommand {
  std::string label;               ///< stands in front of each line of its output
  std::vector<std::string> words;  ///< program and arguments
};

struct DriveResult {
  ExitCode code = ExitCode::kOk;  ///< the exit code of the first node that failed
  std::string message = {};       ///< which node failed, and how
  std::uint64_t returns = 0;      ///< how often nodes that were killed came back (RepeatedDeaths)
};

/// A node to kill (SIGKILL) while the others go on, and perhaps to start again. Times are of CLOCK_MONOTONIC.
struct PlannedDeath {
  using Told = std::function<void(std::uint64_t now_ns)>;

  std::size_t node = 0;                             ///< its place among the commands
  std::uint64_t after_ns = 0;                       ///< time from when all nodes went on from their first meeting
  std::optional<std::uint64_t> back_after_ns = {};  ///< time from when it was killed; none: it is not started again
  Told begun = [](std::uint64_t) {};                ///< called before the nodes go on from their first meeting
  Told killed = [](std::uint64_t) {};
  Told restarts = [](std::uint64_t) {};  ///< called before the new process starts
};

/// Kills nodes one after the other, each when all serve, and starts them again, while the others go on. When the last
/// one is back, all are asked to stop (SIGINT). The seed determines which node is killed, and when.
struct RepeatedDeaths {
  std::uint64_t count = 0;
  std::uint64_t seed = 1;
};

struct DriveOptions {
  int patience_ms = 10'000;  ///< how long nodes that were asked to stop may take before they are killed
  int go_on_ms = 0;          ///< how long the others go on after a node has failed, before they are asked to stop
  std::optional<PlannedDeath> death = {};
  std::optional<RepeatedDeaths> deaths = {};  ///< not together with `death`
  int inherited = -1;  ///< a descriptor that all nodes get as kTimeLineDescriptor, unless negative
};

/// Runs the nodes until all have ended. If one fails other than by a failed check (kCheckFailed), the others are asked
/// to stop (SIGTERM) after `go_on_ms`, and killed if they have not ended within `patience_ms` more. A stop signal is
/// passed on once. The planned death is no failure: the others meet without the node if it does not come back, and
/// otherwise wait for its new process.
DriveResult drive(const std::vector<NodeCommand>& commands, const StopSignals& signals,
                  const DriveOptions& options = {});

}  // namespace granary::bench::cluster
