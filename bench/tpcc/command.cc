// `granary bench tpcc`.

#include <algorithm>

#include "bench/harness/machine.h"
#include "bench/harness/registry.h"
#include "bench/hekaton/store.h"
#include "bench/store/two_pc/make_workload.h"
#include "bench/tpcc/procedures.h"
#include "bench/tpcc/workload.h"

namespace granary::bench::tpcc {

namespace {

Result<std::unique_ptr<Workload>> make(const Settings& settings, const FlagValues& flags) {
  const Result<Parameters> parameters = parameters_from(settings, flags);
  if (!parameters.ok()) return parameters.status();
  if (parameters->chopping) {
    if (const Status good = check_chopping(); !good.ok()) return good;
  }
  // Orders grow the data by a gigabyte in half a minute. Unless told otherwise, that memory is touched before the run:
  // on a virtual machine the first touch of a page can cost more than the transaction that needs it.
  Settings prefaulted = settings;
  if (!flags.given("prefault")) {
    const std::uint64_t limit = settings.options.memory_limit_bytes;
    prefaulted.options.prefault_bytes = std::min({bytes_to_touch(*parameters), limit == 0 ? ~std::uint64_t{0} : limit,
                                                  available_memory() / (std::uint64_t{2} * settings.share.nodes)});
  }
  prefaulted.cluster.database.prefault_bytes = prefaulted.options.prefault_bytes;
  if (settings.variants.has(Variant::kHekaton)) {
    return std::unique_ptr<Workload>(std::make_unique<TpccWorkload<hekaton::HekatonStore>>(
        *parameters, [options = prefaulted.options] { return hekaton::HekatonStore::open(options); }));
  }
  return two_pc::make_workload<TpccWorkload>(prefaulted, *parameters, parameters->partition_ranges().parts());
}

/// Returns an error if a killed node could not come back. A chain of pieces ends when its client ends, and so do the
/// counters of orders outside of transactions.
Status survives_kill(const FlagValues& flags) {
  const auto variants = parse_variants(flags.text("variant"), tpcc_command().variants);
  if (!variants.ok()) return variants.status();
  if (!flags.enabled("chopping") && !flags.enabled("fast_ids") && !variants->has(Variant::kFastIds)) return {};
  return {StatusCode::kInvalidArgument,
          "--kill and --account: with --chopping or fast ids, a client that is killed leaves data that do not fit "
          "together"};
}

}  // namespace

const BenchCommand& tpcc_command() {
  static const BenchCommand command{
      .name = "tpcc",
      .summary = "the five transactions of TPC-C in their standard mix",
      .description =
          "TPC-C-like: all nine tables, five transactions, standard mix, as specified but for think times, terminals "
          "and durability. Each worker has home warehouses. Memory for the run is touched before it (see --prefault). "
          "--verify checks the consistency conditions of clause 3.3.2 afterwards.",
      .examples = {"--workers=2 --warehouses=2 --seconds=30", "--workers=2 --verify",
                   "--new_order_only --cross_partition=20 --variant=partitioned-store",
                   "--new_order_only --warehouses=4 --partitions=1 --variant=partitioned-store",
                   "--workers=2 --warehouses=1 --mix=50,50,0,0,0 --variant=hekaton",
                   "--workers=2 --warehouses=1 --mix=50,0,0,0,50 --stock_level=transaction"},
      .flags = parameter_flags(),
      .variants = VariantSet::engine().with(
          {Variant::kPartitionedStore, Variant::kHekaton, Variant::kSplit, Variant::kFastIds}),
      .breakdown = true,
      .batches = true,
      .on_nodes = true,
      .protocols = {Protocol::kOcc, Protocol::kLease2pl, Protocol::kTwoPcTcp},
      .index_on_nodes = "mixed",
      .set_defaults = set_defaults,
      .make = make,
      .survives_kill = survives_kill,
  };
  return command;
}

}  // namespace granary::bench::tpcc
