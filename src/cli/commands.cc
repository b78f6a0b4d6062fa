#include "src/cli/commands.h"

namespace granary::cli {

const std::vector<const bench::BenchCommand*>& bench_commands() {
  static const std::vector<const bench::BenchCommand*> commands{};
  return commands;
}

const bench::BenchCommand* find_bench_command(std::string_view name) {
  for (const bench::BenchCommand* command : bench_commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

}  // namespace granary::cli
