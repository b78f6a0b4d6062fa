#include "bench/store/two_pc/node_options.h"

#include <fmt/format.h>

#include "cluster_config/load.h"

namespace granary::bench::two_pc {

Result<NodeOptions> node_options(const Settings& settings) {
  const auto refusal = [](std::string why) {
    return Status(StatusCode::kInvalidArgument, fmt::format("--protocol=two_pc_tcp: {}", why));
  };
  if (!settings.variants.empty()) return refusal("--variant is about the engine, which does not run");
  if (settings.rendezvous == nullptr) return refusal("its nodes are of one host; use 'granary cluster run'");
  const auto config = cluster_config::load(settings.cluster.file);
  if (!config.ok()) return config.status();
  const cluster_config::NodeConfig* const node = config->find(settings.cluster.node);
  if (node == nullptr) return refusal(fmt::format("'{}' has no node {}", config->file, settings.cluster.node));
  if (!node->data_directory.empty())
    return refusal(fmt::format("it keeps no log; use a cluster file without 'data_directory' (node {})", node->id));
  NodeOptions options{.directory = config->run_directory + "/two_pc", .share = settings.share};
  if (!node->address.empty()) options.address = node->address;
  return options;
}

}  // namespace granary::bench::two_pc
