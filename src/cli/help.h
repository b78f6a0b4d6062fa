#pragma once
// What `granary help ...` and `--help` print.

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
/// Of `granary log`: the tools of one group. Of a single one: its flags.
std::string tool_group_help(const std::vector<const Tool*>& tools);
/// Of `granary cluster`: its tools, and what runs benchmarks.
std::string cluster_help();
std::string tool_help(const Tool& tool);

}  // namespace granary::cli
