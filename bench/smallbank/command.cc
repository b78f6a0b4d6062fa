// `granary bench smallbank`.

#include "bench/harness/registry.h"
#include "bench/smallbank/workload.h"
#include "bench/store/cluster_store.h"
#include "bench/store/granary_store.h"
#include "bench/store/partitioned_store.h"
#include "bench/store/two_pc/node_options.h"

namespace granary::bench::smallbank {

namespace {

constexpr std::uint64_t kLatencySample = 16;  // requests are short

Result<std::unique_ptr<Workload>> make(const Settings& settings, const FlagValues& flags) {
  const Result<Parameters> parameters = parameters_from(settings, flags);
  if (!parameters.ok()) return parameters.status();
  if (settings.protocol == Protocol::kTwoPcTcp) {
    const auto node = two_pc::node_options(settings);
    if (!node.ok()) return node.status();
    return std::unique_ptr<Workload>(std::make_unique<BankWorkload<two_pc::TwoPcStore>>(
        *parameters, [node = *node] { return two_pc::TwoPcStore::open(node); }));
  }
  if (!settings.share.alone()) {
    return std::unique_ptr<Workload>(std::make_unique<BankWorkload<store::ClusterStore>>(
        *parameters, [cluster = settings.cluster, protocol = settings.protocol] {
          return store::ClusterStore::open(cluster, protocol);
        }));
  }
  const Options options = settings.options;
  if (settings.variants.has(Variant::kPartitionedStore)) {
    const std::uint32_t partitions = parameters->partitions;
    return std::unique_ptr<Workload>(std::make_unique<BankWorkload<store::PartitionedStore>>(
        *parameters, [=] { return store::PartitionedStore::open(options, partitions); }));
  }
  const bool split = settings.variants.has(Variant::kSplit);
  return std::unique_ptr<Workload>(std::make_unique<BankWorkload<store::GranaryStore>>(
      *parameters, [=] { return store::GranaryStore::open(options, split); }));
}

VariantSet smallbank_variants() {
  VariantSet variants = VariantSet::engine();
  variants.add({Variant::kPartitionedStore, Variant::kSplit});
  return variants;
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
      .variants = smallbank_variants(),
      .on_nodes = true,
      .protocols = {Protocol::kOcc, Protocol::kLease2pl, Protocol::kTwoPcTcp},
      .latency_sample = kLatencySample,
      .verify = true,
      .make = make,
  };
  return command;
}

}  // namespace granary::bench::smallbank
