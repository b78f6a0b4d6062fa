#pragma once
// Adjusts the flags of every benchmark to a cluster, whose file takes the place of some of them.

#include <cstdint>
#include <string>

#include <granary/status.h>

#include "bench/harness/command.h"
#include "bench/harness/flags.h"

namespace granary::bench {

/// Whether the benchmark runs on the nodes of a cluster, and whether one of these is killed meanwhile.
bool on_cluster(const FlagValues& flags);
bool kills(const FlagValues& flags);

/// Returns how many nodes the cluster file has; 1 without a cluster, or if the file cannot be read.
std::uint32_t nodes_of_cluster(const FlagValues& flags);

/// Returns kInvalidArgument, with the key of the file, if a flag was given that a node would not follow, because its
/// cluster file takes the place of it. A figure must not be of other settings than its command line says.
Status check_cluster_flags(const FlagValues& flags);

/// Sets the defaults that differ on a cluster. The data of all nodes are checked after each run. --workers is at most
/// what the cluster file gives to the node that has fewest. Epochs and durability are those of the file. The index is
/// the one that other nodes can reach.
void set_cluster_defaults(const BenchCommand& command, FlagValues& flags);

/// The flag --start_timeout, in seconds, and its value for ClusterOptions::start_timeout_ms.
Flag start_timeout_flag();
std::uint32_t start_timeout_ms(const FlagValues& flags);

}  // namespace granary::bench
