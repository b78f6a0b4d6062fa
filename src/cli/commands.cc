#include "src/cli/commands.h"

#include "bench/harness/registry.h"

namespace granary::cli {

const std::vector<const bench::BenchCommand*>& bench_commands() {
#define GRANARY_LIST_BENCHMARK(folder, name) &bench::folder::name##_command(),
  static const std::vector<const bench::BenchCommand*> commands{GRANARY_BENCHMARKS(GRANARY_LIST_BENCHMARK)};
#undef GRANARY_LIST_BENCHMARK
  return commands;
}

const bench::BenchCommand* find_bench_command(std::string_view name) {
  for (const bench::BenchCommand* command : bench_commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

}  // namespace granary::cli
