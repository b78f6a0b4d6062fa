// `granary bench lease`.

#include "bench/harness/registry.h"
#include "bench/lease/workload.h"
#include "bench/store/make_workload.h"
#include "bench/store/range_flags.h"

namespace granary::bench::lease {

namespace {

Result<std::unique_ptr<Workload>> make(const Settings& settings, const FlagValues& flags) {
  const Result<Parameters> parameters = parameters_from(settings, flags);
  if (!parameters.ok()) return parameters.status();
  return store::make_workload<LeaseWorkload>(settings, *parameters, parameters->partitions);
}

}  // namespace

const BenchCommand& lease_command() {
  static const BenchCommand command{
      .name = "lease",
      .summary = "transactions of ten records, some only read: where leases pay",
      .description =
          "The two microbenchmarks of DrTM's read leases. Each transaction reads --records records in one go and "
          "increments those that are not only read. Read-write: throughput by --read_percent, 0 to 100. Hot spot: by "
          "the number of nodes, with --hotspot=120: one of the records that are only read is hot. In a cluster each is "
          "run twice with --protocol=lease_2pl: with leases on what is only read, and with --read_lock=exclusive. "
          "Increments are counted afterwards.",
      .examples = {"--workers=2 --partitions=2 --read_percent=80", "--workers=2 --partitions=2 --hotspot=120"},
      .flags = parameter_flags(),
      .variants = VariantSet::engine().with({Variant::kPartitionedStore}),
      .on_nodes = true,
      .protocols = {Protocol::kOcc, Protocol::kLease2pl},
      .verify = true,
      .set_defaults = store::set_range_defaults,
      .make = make,
  };
  return command;
}

}  // namespace granary::bench::lease
