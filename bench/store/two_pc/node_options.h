#pragma once
// The baseline's node that a process started by `granary cluster run` is to be.

#include "bench/harness/command.h"
#include "bench/store/two_pc/two_pc_store.h"

namespace granary::bench::two_pc {

/// An error is a usage error: something was asked for that the baseline does not have.
Result<NodeOptions> node_options(const Settings& settings);

}  // namespace granary::bench::two_pc
