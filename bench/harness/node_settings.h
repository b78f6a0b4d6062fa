#pragma once
// Takes the flags of benchmarks that run on the nodes of a cluster, and the settings of a process that is such a node.

#include <vector>

#include <granary/status.h>

#include "bench/harness/command.h"
#include "bench/harness/flags.h"

namespace granary::bench {

/// Adds the flags of a command that runs on the nodes of a cluster, too.
void add_node_flags(const BenchCommand& command, std::vector<Flag>& flags);
/// Sets which node of which cluster this process is. Precondition: the options of its database are complete.
/// kInvalidArgument where flags make no sense for a node, or without a cluster.
Status set_node(const BenchCommand& command, const FlagValues& flags, Settings& settings);
/// Takes --read_lock.
Status set_read_lock(const FlagValues& flags, Settings& settings);

}  // namespace granary::bench
