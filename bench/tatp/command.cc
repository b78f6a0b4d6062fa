// `granary bench tatp`.

#include "bench/harness/registry.h"
#include "bench/store/range_flags.h"
#include "bench/store/two_pc/make_workload.h"
#include "bench/tatp/workload.h"

namespace granary::bench::tatp {

namespace {

Result<std::unique_ptr<Workload>> make(const Settings& settings, const FlagValues& flags) {
  constexpr std::uint32_t kTables = 5;
  const auto parameters = store::range_parameters_from(settings, flags, "subscribers", kTables);
  if (!parameters.ok()) return parameters.status();
  if (Status possible = store::check_distributed(flags, *parameters); !possible.ok()) return possible;
  return two_pc::make_workload<TatpWorkload>(settings, *parameters, parameters->partitions);
}

}  // namespace

const BenchCommand& tatp_command() {
  static const BenchCommand command{
      .name = "tatp",
      .summary = "the seven short transactions of TATP on subscribers of a telephone network",
      .description =
          "TATP with its standard mix: 80 % reads, 16 % updates, 2 % inserts and 2 % deletes of call forwardings. "
          "Subscribers are drawn as specified, not uniformly. A transaction whose row is missing, or is there already, "
          "counts as rolled back, which the specification allows; it happens to a quarter of them. All tables are "
          "checked afterwards.",
      .examples = {"--workers=2 --seconds=30", "--workers=2 --partitions=2 --distributed_percent=10",
                   "--partitions=2 --variant=partitioned-store"},
      .flags = {integer_flag("subscribers", 100'000, 1, 1'000'000'000, "subscribers",
                             "Subscribers of each partition, each with some ten rows that belong to it."),
                store::partitions_flag(
                    "Ranges of subscribers; a worker has mostly one of them. In a cluster: one a node."),
                real_flag("distributed_percent", 1, 0, 100, "percent",
                          "Share of transactions on a subscriber of another partition."),
                store::index_flag()},
      .variants = VariantSet::engine().with({Variant::kPartitionedStore, Variant::kSplit}),
      .breakdown = true,
      .batches = true,
      .on_nodes = true,
      .protocols = {Protocol::kOcc, Protocol::kLease2pl, Protocol::kTwoPcTcp},
      .latency_sample = 16,  // transactions are so short that reading the clock for each would show
      .verify = true,
      .set_defaults = store::set_range_defaults,
      .make = make,
      .survives_kill = [](const FlagValues&) { return Status(); },
  };
  return command;
}

}  // namespace granary::bench::tatp
