#pragma once
// Texts that `granary help ...` and `--help` print.

#include <string>
#include <vector>

#include "bench/harness/command.h"
#include "src/cli/tool.h"

namespace granary::cli {

std::string general_help();
std::string bench_help();
std::string options_help();
std::string protocols_help();
std::string command_help(const bench::BenchCommand& command);
/// Returns the help on the tools of one group, such as `granary log`. If the group is a single tool, that is its flags.
std::string tool_group_help(const std::vector<const Tool*>& tools);
/// Returns the help on `granary cluster`: its tools, and its words that run benchmarks.
std::string cluster_help();
std::string tool_help(const Tool& tool);

}  // namespace granary::cli
