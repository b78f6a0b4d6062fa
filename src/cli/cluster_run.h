#pragma once
// `granary cluster run WORKLOAD --cluster=FILE`: a benchmark on all nodes of a cluster file whose nodes are on this
// host; and `granary cluster merge`, for nodes on several hosts, each of which has run it by itself.

#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/command.h"

namespace granary::cli {

/// A second word of `granary cluster` that the name of a benchmark follows.
struct ClusterBench {
  std::string name = {};  ///< "run"
  std::string summary = {};
  std::string (*help)() = nullptr;
  bench::ExitCode (*run)(const bench::BenchCommand&, const bench::FlagValues&) = nullptr;
};

const std::vector<ClusterBench>& cluster_benches();
/// Returns the second word of this name; nullptr if there is none.
const ClusterBench* find_cluster_bench(std::string_view name);

/// Runs the benchmark on all nodes. `flags` are those of `granary bench`, with --cluster.
bench::ExitCode run_on_nodes(const bench::BenchCommand& command, const bench::FlagValues& flags);

std::string cluster_run_help();

/// Makes one report of the nodes' reports. `flags` are those of run_on_nodes(), with --reports.
bench::ExitCode merge_reports(const bench::BenchCommand& command, const bench::FlagValues& flags);

std::string cluster_merge_help();

}  // namespace granary::cli
