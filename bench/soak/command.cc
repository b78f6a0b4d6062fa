// `granary bench soak`.

#include <fmt/format.h>

#include "bench/harness/registry.h"
#include "bench/soak/verdict.h"
#include "bench/soak/workload.h"

namespace granary::bench::soak {

namespace {

Result<std::unique_ptr<Workload>> make(const Settings& settings, const FlagValues& flags) {
  const Parameters parameters{.keys = flags.integer("keys"),
                              .largest_value = static_cast<std::uint32_t>(flags.integer("largest_value")),
                              .queue_length = flags.integer("queue_length"),
                              .seed = settings.seed,
                              .snapshots = settings.options.snapshots};
  if (settings.verify && flags.real("seconds") < kFewestSeconds) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("--seconds={}: a verdict needs at least {} seconds (or use --noverify)",
                              flags.real("seconds"), kFewestSeconds));
  }
  return std::unique_ptr<Workload>(std::make_unique<SoakWorkload>(settings, parameters));
}

}  // namespace

const BenchCommand& soak_command() {
  static const BenchCommand command{
      .name = "soak",
      .summary = "updates, deletes, inserts and snapshots; judges whether memory stays level",
      .description =
          "Makes garbage of every kind for as long as --seconds says: values that grow and shrink, records that are "
          "deleted and born again, queues that wander through the key space, snapshots that hold old versions. Ends "
          "with exit code 1 if memory still grew in the last third of the run.",
      .examples = {"--seconds=60", "--seconds=3600 --json=soak.json",
                   "--seconds=60 --variant=no-gc   (fails, as it should)"},
      .flags = {integer_flag("keys", 200'000, 1, 1'000'000'000, "keys",
                             "Records that are updated, and as many that come and go."),
                integer_flag("largest_value", 400, 16, 65536, "bytes", "Updates write 16 to this many bytes."),
                integer_flag("queue_length", 10'000, 1, 1'000'000'000, "records", "Length of each worker's queue.")},
      .variants = VariantSet::engine(),
      .verify = true,
      .seconds = 60,
      .repeat = 1,
      .make = make,
  };
  return command;
}

}  // namespace granary::bench::soak
