#pragma once

#include "bench/harness/command.h"

namespace granary::bench::remote {

/// `granary bench remote`: lookups in another process's hash table beside plain READs.
const BenchCommand& remote_command();

}  // namespace granary::bench::remote
