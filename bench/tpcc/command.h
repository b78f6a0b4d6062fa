#pragma once
// `granary bench tpcc`.

#include "bench/harness/command.h"

namespace granary::bench::tpcc {

const BenchCommand& tpcc_command();

}  // namespace granary::bench::tpcc
