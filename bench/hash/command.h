#pragma once

#include "bench/harness/command.h"

namespace granary::bench::hash {

/// `granary bench hash`: READs per lookup of hash tables.
const BenchCommand& hash_command();

}  // namespace granary::bench::hash
