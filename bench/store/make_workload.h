#pragma once
// Makes a workload on the store that the settings name.

#include <memory>

#include "bench/harness/command.h"
#include "bench/store/cluster_store.h"
#include "bench/store/granary_store.h"
#include "bench/store/partitioned_store.h"
#include "bench/store/store_workload.h"

namespace granary::bench::store {

/// Makes W<S>(parameters, open) for the store S: a node of a cluster; by --variant the Partitioned-Store, in so many
/// partitions; else the engine. two_pc/make_workload.h has one more.
template <template <Store> class W, typename Parameters>
Result<std::unique_ptr<Workload>> make_workload(const Settings& settings, const Parameters& parameters,
                                                std::uint32_t partitions) {
  const auto on = [&]<typename S>(OpenStore<S> open) -> std::unique_ptr<Workload> {
    return std::make_unique<W<S>>(parameters, std::move(open));
  };
  if (!settings.share.alone()) {
    return on(OpenStore<ClusterStore>(
        [cluster = settings.cluster, protocol = settings.protocol] { return ClusterStore::open(cluster, protocol); }));
  }
  const Options options = settings.options;
  if (settings.variants.has(Variant::kPartitionedStore))
    return on(OpenStore<PartitionedStore>([=] { return PartitionedStore::open(options, partitions); }));
  const bool split = settings.variants.has(Variant::kSplit);
  const bool breakdown = settings.breakdown;
  return on(OpenStore<GranaryStore>([=] { return GranaryStore::open(options, split, breakdown); }));
}

}  // namespace granary::bench::store
