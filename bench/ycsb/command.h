#pragma once
// `granary bench ycsb` and `granary bench kv`.

#include "bench/harness/command.h"

namespace granary::bench::ycsb {

const BenchCommand& ycsb_command();
const BenchCommand& kv_command();

}  // namespace granary::bench::ycsb
