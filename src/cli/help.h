#pragma once
// What `granary help ...` and `--help` print.

#include <string>

#include "bench/harness/command.h"

namespace granary::cli {

std::string general_help();
std::string bench_help();
std::string command_help(const bench::BenchCommand& command);

}  // namespace granary::cli
