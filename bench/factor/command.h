#pragma once
// `granary bench factor`: the factor analysis of the Silo paper (5.7, figure 11) on a workload of choice.

#include "bench/harness/command.h"

namespace granary::bench::factor {

/// The command that measures `workload` in each step of the analysis; takes the workload's flags.
BenchCommand factor_command(const BenchCommand& workload);

}  // namespace granary::bench::factor
