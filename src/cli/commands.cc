#include "src/cli/commands.h"

#include "bench/append/command.h"
#include "bench/fabric/command.h"
#include "bench/factor/command.h"
#include "bench/hash/command.h"
#include "bench/lease/command.h"
#include "bench/recovery/command.h"
#include "bench/remote/command.h"
#include "bench/smallbank/command.h"
#include "bench/soak/command.h"
#include "bench/tpcc/command.h"
#include "bench/ycsb/command.h"

namespace granary::cli {

const std::vector<const bench::BenchCommand*>& bench_commands() {
  static const bench::BenchCommand factor = bench::factor::factor_command(bench::tpcc::tpcc_command());
  static const std::vector<const bench::BenchCommand*> commands{
      &bench::tpcc::tpcc_command(),           &bench::ycsb::ycsb_command(),         &bench::ycsb::kv_command(),
      &bench::smallbank::smallbank_command(), &bench::lease::lease_command(),       &bench::append_command(),
      &bench::soak::soak_command(),           &bench::recovery::recovery_command(), &bench::hash::hash_command(),
      &bench::fabric::fabric_command(),       &bench::remote::remote_command(),     &factor};
  return commands;
}

const bench::BenchCommand* find_bench_command(std::string_view name) {
  for (const bench::BenchCommand* command : bench_commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

}  // namespace granary::cli
