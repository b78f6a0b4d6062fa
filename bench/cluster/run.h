#pragma once
// A benchmark on all nodes of a cluster on this host: runs them, merges their reports, prints and writes the result as
// that of one process.

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

/// A node is killed in each repeat.
struct KillPlan {
  Kill kill;
  std::function<Result<std::unique_ptr<membership::Board>>()> open_board;  ///< the one at which the nodes meet
};

struct NodesRun {
  const BenchCommand& command;
  const FlagValues& flags;
  const Settings& settings;
  std::vector<std::string> labels;  ///< of the nodes: "node 1"
  /// The program and arguments that run one repeat on the node of this place among the labels, and write its report
  /// (--json) to the file.
  std::function<std::vector<std::string>(std::size_t node, const std::string& report)> words;
  std::vector<std::string> directories = {};  ///< directories_of() the nodes
  std::optional<KillPlan> kill = {};
  /// Nodes die again and again, and come back; only of a command with `join`
  std::optional<RepeatedDeaths> kills = {};
};

/// Each repeat starts all nodes anew, and loads its data into directories that must be empty. They are emptied before
/// the next repeat, and behind the last one if nodes were killed.
ExitCode run_nodes(const NodesRun& run);

/// The same of nodes that were started one by one, on hosts of their own; `reports` are what they have left (--json),
/// in the order of `nodes`, their ids, and of the labels. Wrong usage if they are not those nodes' reports, or of runs
/// that differ.
ExitCode merge_nodes(const NodesRun& run, const std::vector<std::uint16_t>& nodes,
                     const std::vector<std::string>& reports);

}  // namespace granary::bench::cluster
