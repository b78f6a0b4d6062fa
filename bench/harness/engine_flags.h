#pragma once
// The flags of benchmarks whose store is the engine. They tell where its time goes, and how many transactions each
// worker has open at once, on one node alone and on those of a cluster.

#include <vector>

#include <granary/status.h>

#include "bench/harness/command.h"
#include "bench/harness/flags.h"

namespace granary::bench {

/// Adds --breakdown, --batch and --fibers, as far as the command has them.
void add_engine_flags(const BenchCommand& command, std::vector<Flag>& flags);
/// Takes their values, after those of all other flags. kInvalidArgument where they make no sense.
Status set_engine_flags(const FlagValues& flags, Settings& settings);

}  // namespace granary::bench
