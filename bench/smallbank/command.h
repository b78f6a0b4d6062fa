#pragma once
// `granary bench smallbank`.

#include "bench/harness/command.h"

namespace granary::bench::smallbank {

const BenchCommand& smallbank_command();

}  // namespace granary::bench::smallbank
