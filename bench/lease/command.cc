// `granary bench lease`.

#include "bench/harness/registry.h"
#include "bench/lease/workload.h"
#include "bench/store/cluster_store.h"
#include "bench/store/granary_store.h"
#include "bench/store/partitioned_store.h"

namespace granary::bench::lease {

namespace {

Result<std::unique_ptr<Workload>> make(const Settings& settings, const FlagValues& flags) {
  const Result<Parameters> parameters = parameters_from(settings, flags);
  if (!parameters.ok()) return parameters.status();
  if (!settings.share.alone()) {
    return std::unique_ptr<Workload>(std::make_unique<LeaseWorkload<store::ClusterStore>>(
        *parameters, [cluster = settings.cluster, protocol = settings.protocol] {
          return store::ClusterStore::open(cluster, protocol);
        }));
  }
  const Options options = settings.options;
  if (settings.variants.has(Variant::kPartitionedStore)) {
    const std::uint32_t partitions = parameters->partitions;
    if (partitions > store::Footprint::kMost) {
      return Status(
          StatusCode::kInvalidArgument,
          fmt::format("--partitions={}: transactions may touch all of them, and the partitioned store takes at "
                      "most {} at once",
                      partitions, store::Footprint::kMost));
    }
    return std::unique_ptr<Workload>(std::make_unique<LeaseWorkload<store::PartitionedStore>>(
        *parameters, [=] { return store::PartitionedStore::open(options, partitions); }));
  }
  return std::unique_ptr<Workload>(std::make_unique<LeaseWorkload<store::GranaryStore>>(
      *parameters, [=] { return store::GranaryStore::open(options, false); }));
}

VariantSet lease_variants() {
  VariantSet variants = VariantSet::engine();
  variants.add(Variant::kPartitionedStore);
  return variants;
}

}  // namespace

const BenchCommand& lease_command() {
  static const BenchCommand command{
      .name = "lease",
      .summary = "transactions of ten records, some only read: where leases pay",
      .description =
          "The two microbenchmarks of DrTM's read leases. Each transaction reads --records records in one go and "
          "increments those that are not only read. Read-write: throughput by --read_percent, 0 to 100. Hot spot: by "
          "the "
          "number of nodes, with --hotspot=120: one of the records that are only read is hot. In a cluster each is run "
          "twice with --protocol=lease_2pl: with leases on what is only read, and with --read_lock=exclusive. "
          "Increments are counted afterwards.",
      .examples = {"--workers=2 --partitions=2 --read_percent=80", "--workers=2 --partitions=2 --hotspot=120"},
      .flags = parameter_flags(),
      .variants = lease_variants(),
      .on_nodes = true,
      .protocols = {Protocol::kOcc, Protocol::kLease2pl},
      .verify = true,
      .make = make,
  };
  return command;
}

}  // namespace granary::bench::lease
