#pragma once
// Every `granary bench NAME` there is.

#include <string_view>
#include <vector>

#include "bench/harness/command.h"

namespace granary::cli {

/// Returns all benchmarks in the order in which help lists them.
const std::vector<const bench::BenchCommand*>& bench_commands();

/// Returns the benchmark of this name; nullptr if there is none.
const bench::BenchCommand* find_bench_command(std::string_view name);

}  // namespace granary::cli
