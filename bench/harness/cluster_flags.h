#pragma once
// What the flags of every benchmark are on a cluster, whose file says some of what they would.

#include <granary/status.h>

#include "bench/harness/flags.h"

namespace granary::bench {

/// kInvalidArgument if a flag was given that a node would not follow, as its cluster file takes the place of it: a figure must not
/// be of other settings than its command line says. Names the key of the file.
Status check_cluster_flags(const FlagValues& flags);

/// Defaults that are others on a cluster: the data of all nodes are checked after each run.
void set_cluster_defaults(FlagValues& flags);

}  // namespace granary::bench
