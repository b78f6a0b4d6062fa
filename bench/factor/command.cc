// `granary bench factor`: the factor analysis of the Silo paper (5.7, figure 11) on TPC-C.

#include "bench/factor/bars.h"
#include "bench/harness/registry.h"

namespace granary::bench::factor {

namespace {

/// Measures `workload` in each step of the analysis; takes the workload's flags.
BenchCommand analysis_of(const BenchCommand& workload) {
  BenchCommand command = workload;
  command.name = "factor";
  command.summary = "what each of Silo's parts brings, step by step (on " + workload.name + ")";
  command.description =
      "Figure 11 of the Silo paper: a simple allocator and no overwrites at first, then the slab allocator, overwrites "
      "in place, no snapshots, no garbage collection, each on top of the one before; with --durability its second "
      "group: no log, a log of TIDs only, of full records, compressed. Every step runs --repeat times, all steps in "
      "turn, each on freshly loaded data; the median counts.";
  command.examples = {"--workers=2 --seconds=10", "--durability=disk", "--json=factor.json"};
  command.variants = {};
  command.on_nodes = false;  // nodes of a cluster refuse what its steps do without
  command.seconds = 10;
  command.run_instead = [workload](const Settings& settings, const FlagValues& flags) {
    return run_bars(workload, settings, flags);
  };
  return command;
}

}  // namespace

const BenchCommand& factor_command() {
  static const BenchCommand command = analysis_of(tpcc::tpcc_command());
  return command;
}

}  // namespace granary::bench::factor
