#pragma once
// `granary bench lease`.

#include "bench/harness/command.h"

namespace granary::bench::lease {

const BenchCommand& lease_command();

}  // namespace granary::bench::lease
