// `granary bench smallbank`.

#include "bench/harness/registry.h"
#include "bench/smallbank/workload.h"
#include "bench/store/range_flags.h"
#include "bench/store/two_pc/make_workload.h"

namespace granary::bench::smallbank {

namespace {

constexpr std::uint64_t kLatencySample = 16;  // requests are short

Result<std::unique_ptr<Workload>> make(const Settings& settings, const FlagValues& flags) {
  const Result<Parameters> parameters = parameters_from(settings, flags);
  if (!parameters.ok()) return parameters.status();
  return two_pc::make_workload<BankWorkload>(settings, *parameters, parameters->partitions);
}

}  // namespace

const BenchCommand& smallbank_command() {
  static const BenchCommand command{
      .name = "smallbank",
      .summary = "the six short transactions of SmallBank on customers' balances",
      .description =
          "SmallBank with DrTM's mix: 25 % payments from one customer to another, 15 % each of amalgamating two "
          "customers' money, reading balances, depositing, writing checks and changing savings. The money is counted "
          "afterwards.",
      .examples = {"--workers=2 --seconds=30", "--workers=2 --partitions=2 --distributed_percent=10",
                   "--accounts=1000 --hot_accounts_percent=1", "--partitions=2 --variant=partitioned-store"},
      .flags = parameter_flags(),
      .variants = VariantSet::engine().with({Variant::kPartitionedStore, Variant::kSplit}),
      .breakdown = true,
      .batches = true,
      .on_nodes = true,
      .protocols = {Protocol::kOcc, Protocol::kLease2pl, Protocol::kTwoPcTcp},
      .latency_sample = kLatencySample,
      .verify = true,
      .set_defaults = store::set_range_defaults,
      .make = make,
      .survives_kill = [](const FlagValues&) { return Status(); },
  };
  return command;
}

}  // namespace granary::bench::smallbank
