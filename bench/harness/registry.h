#pragma once
// Lists every `granary bench NAME`. A benchmark is a folder under bench/ whose command.cc defines
// FOLDER::NAME_command(), and its line here, which declares that function and puts the command into help and command
// line (src/cli/commands.cc).

#include "bench/harness/command.h"

/// Calls ENTRY(folder, name) for each, in the order in which help lists them.
#define GRANARY_BENCHMARKS(ENTRY) \
  ENTRY(tpcc, tpcc)               \
  ENTRY(ycsb, ycsb)               \
  ENTRY(ycsb, kv)                 \
  ENTRY(smallbank, smallbank)     \
  ENTRY(tatp, tatp)               \
  ENTRY(lease, lease)             \
  ENTRY(append, append)           \
  ENTRY(soak, soak)               \
  ENTRY(recovery, recovery)       \
  ENTRY(hash, hash)               \
  ENTRY(fabric, fabric)           \
  ENTRY(remote, remote)           \
  ENTRY(predict, predict)         \
  ENTRY(hekaton, timestamps)      \
  ENTRY(factor, factor)

namespace granary::bench {

#define GRANARY_DECLARE_BENCHMARK(folder, name) \
  namespace folder {                            \
  const BenchCommand& name##_command();         \
  }
GRANARY_BENCHMARKS(GRANARY_DECLARE_BENCHMARK)
#undef GRANARY_DECLARE_BENCHMARK

}  // namespace granary::bench
