#pragma once
// `granary bench append`: a recorded list-append run, and the judge of such histories.

#include "bench/harness/command.h"

namespace granary::bench {

const BenchCommand& append_command();

}  // namespace granary::bench
