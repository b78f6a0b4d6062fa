#pragma once
// `granary bench soak`.

#include "bench/harness/command.h"

namespace granary::bench::soak {

const BenchCommand& soak_command();

}  // namespace granary::bench::soak
