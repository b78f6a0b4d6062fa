#pragma once
// Chooses the options of the baseline's node from the settings of a process that `granary cluster run` has started.

#include "bench/harness/command.h"
#include "bench/store/two_pc/two_pc_store.h"

namespace granary::bench::two_pc {

/// Returns the node's options. An error is a usage error: the settings ask for something that the baseline lacks.
Result<NodeOptions> node_options(const Settings& settings);

}  // namespace granary::bench::two_pc
