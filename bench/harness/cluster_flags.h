#pragma once
// What the flags of every benchmark are on a cluster, whose file says some of what they would.

#include <cstdint>
#include <string>

#include <granary/status.h>

#include "bench/harness/command.h"
#include "bench/harness/flags.h"

namespace granary::bench {

/// Whether it runs on the nodes of a cluster, and whether one of these is killed meanwhile.
bool on_cluster(const FlagValues& flags);
bool kills(const FlagValues& flags);

/// Returns how many nodes the cluster file has; 1 without a cluster, or if the file cannot be read.
std::uint32_t nodes_of_cluster(const FlagValues& flags);

/// kInvalidArgument if a flag was given that a node would not follow, as its cluster file takes the place of it: a
/// figure must not be of other settings than its command line says. Names the key of the file.
Status check_cluster_flags(const FlagValues& flags);

/// Sets the defaults that differ on a cluster: the data of all nodes are checked after each run, --workers is no more
/// than the cluster file gives to the node that has fewest, epochs and durability are those of the file, and the index
/// is the one that other nodes can reach.
void set_cluster_defaults(const BenchCommand& command, FlagValues& flags);

/// --start_timeout, in seconds, and what it says for ClusterOptions::start_timeout_ms.
Flag start_timeout_flag();
std::uint32_t start_timeout_ms(const FlagValues& flags);

}  // namespace granary::bench
