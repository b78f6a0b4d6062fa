#include "bench/fabric/bench_provider.h"

#include <vector>

#include <fmt/format.h>

#include "src/node/node_fabric.h"

namespace granary::bench::fabric {

using cluster_config::kProviders;
using cluster_config::Provider;

Flag provider_flag() {
  std::vector<std::string> names;
  std::string help;
  for (const cluster_config::ProviderTraits& row : kProviders) {
    names.emplace_back(row.name);
    help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", row.name, row.summary);
  }
  return choice_flag("provider", names.front(), names, help + ".");
}

Provider provider_of(const FlagValues& flags) {
  return cluster_config::find_provider(flags.text("provider"))->provider;
}

Result<std::unique_ptr<rdma::Fabric>> open_bench_fabric(Provider provider, rdma::NodeId node,
                                                        const std::string& run_directory) {
  cluster_config::ClusterConfig config;
  config.provider = provider;
  config.run_directory = run_directory;
  config.swap_stores = cluster_config::SwapStores::kTolerated;  // nothing is raced here
  cluster_config::NodeConfig own;
  own.id = node;
  own.port = 18'515;
  return db::open_provider(config, own, {.node = node});
}

}  // namespace granary::bench::fabric
