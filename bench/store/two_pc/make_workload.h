#pragma once
// Makes a workload on any store, including the two-phase-commit baseline.

#include "bench/store/make_workload.h"
#include "bench/store/two_pc/node_options.h"

namespace granary::bench::two_pc {

/// Makes a workload on a node of the baseline if the protocol is two_pc_tcp, and otherwise like store::make_workload.
template <template <store::Store> class W, typename Parameters>
Result<std::unique_ptr<Workload>> make_workload(const Settings& settings, const Parameters& parameters,
                                                std::uint32_t partitions) {
  if (settings.protocol != Protocol::kTwoPcTcp) return store::make_workload<W>(settings, parameters, partitions);
  const Result<NodeOptions> node = node_options(settings);
  if (!node.ok()) return node.status();
  return std::unique_ptr<Workload>(
      std::make_unique<W<TwoPcStore>>(parameters, [node = *node] { return TwoPcStore::open(node); }));
}

}  // namespace granary::bench::two_pc
