#pragma once

#include "bench/harness/command.h"

namespace granary::bench::fabric {

/// `granary bench fabric`: one-sided operations beside plain copies.
const BenchCommand& fabric_command();

}  // namespace granary::bench::fabric
