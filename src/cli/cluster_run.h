#pragma once
// `granary cluster run WORKLOAD --cluster=FILE`: a benchmark on all nodes of a cluster file whose nodes are on this host; and `granary
// cluster merge`, for nodes on several hosts, each of which has run it by itself.

#include "bench/harness/command.h"

namespace granary::cli {

/// `flags`: of `granary bench`, with --cluster.
bench::ExitCode run_on_nodes(const bench::BenchCommand& command, const bench::FlagValues& flags);

std::string cluster_run_help();

/// `flags`: the same, with --reports.
bench::ExitCode merge_reports(const bench::BenchCommand& command, const bench::FlagValues& flags);

std::string cluster_merge_help();

}  // namespace granary::cli
