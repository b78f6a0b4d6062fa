#pragma once
// Runs a benchmark on all nodes of a cluster on this host, merges the nodes' reports, and prints and writes the result
// like that of one process.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cluster/drive.h"
#include "bench/cluster/kill.h"
#include "bench/harness/command.h"
#include "cluster_config/membership/board.h"

namespace granary::bench::cluster {

/// The plan to kill a node in each repeat.
struct KillPlan {
  Kill kill;
  std::function<Result<std::unique_ptr<membership::Board>>()> open_board;  ///< opens the board at which the nodes meet
};

struct NodesRun {
  const BenchCommand& command;
  const FlagValues& flags;
  const Settings& settings;
  std::vector<std::string> labels;  ///< the labels of the nodes: "node 1"
  /// Returns program and arguments to run one repeat on the node of this place among the labels, which writes its
  /// report (--json) to the file.
  std::function<std::vector<std::string>(std::size_t node, const std::string& report)> words;
  std::vector<std::string> directories = {};  ///< the directories_of() the nodes
  std::optional<KillPlan> kill = {};
  /// Set if nodes die again and again, and come back; only for a command with `join`.
  std::optional<RepeatedDeaths> kills = {};
};

/// Runs the repeats. Each starts all nodes anew, and loads its data into directories that must be empty. They are
/// emptied before the next repeat and, if nodes were killed, after the last one.
ExitCode run_nodes(const NodesRun& run);

/// Merges the reports of nodes that were started one by one, on hosts of their own. `reports` are the files that they
/// have left (--json), in the order of `nodes`, their ids, and of the labels. It is wrong usage if they are not those
/// nodes' reports, or of runs that differ.
ExitCode merge_nodes(const NodesRun& run, const std::vector<std::uint16_t>& nodes,
                     const std::vector<std::string>& reports);

}  // namespace granary::bench::cluster
