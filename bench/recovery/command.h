#pragma once
// `granary bench recovery`.

#include "bench/harness/command.h"

namespace granary::bench::recovery {

const BenchCommand& recovery_command();

}  // namespace granary::bench::recovery
