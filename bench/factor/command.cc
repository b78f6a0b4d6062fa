#include "bench/factor/command.h"

#include "bench/factor/bars.h"

namespace granary::bench::factor {

BenchCommand factor_command(const BenchCommand& workload) {
  BenchCommand command = workload;
  command.name = "factor";
  command.summary = "what each of Silo's parts brings, step by step (on " + workload.name + ")";
  command.description =
      "Figure 11 of the Silo paper: a simple allocator and no overwrites at first, then the slab allocator, overwrites "
      "in "
      "place, no snapshots, no garbage collection, each on top of the one before; with --durability its second group: "
      "no log, a log of TIDs only, of full records, compressed. Every step runs --repeat times, all "
      "steps in turn, each on freshly loaded data; the median counts.";
  command.examples = {"--workers=2 --seconds=10", "--durability=disk", "--json=factor.json"};
  command.variants = {};
  command.seconds = 10;
  command.run_instead = [workload](const Settings& settings, const FlagValues& flags) {
    return run_bars(workload, settings, flags);
  };
  return command;
}

}  // namespace granary::bench::factor
