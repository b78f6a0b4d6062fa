#include "src/node/node_fabric.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "cluster_config/key_file.h"
#include "cluster_config/membership/local/local_board.h"
#include "cluster_config/membership/zookeeper/zookeeper_board.h"
#include "kvstore/hash/key.h"
#include "rdma/authentication.h"
#include "rdma/shm/shm_fabric.h"
#include "rdma/verbs/verbs_fabric.h"
#include "src/node/cluster_protocol.h"

namespace granary::db {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;
using cluster_config::Provider;

namespace {

using OpenedFabric = Result<std::unique_ptr<rdma::Fabric>>;

OpenedFabric open_shm(const ClusterConfig& config, const NodeConfig&, const rdma::NodeOptions& options) {
  return rdma::shm::open_shm_fabric({.node = options, .run_directory = config.run_directory});
}

OpenedFabric open_verbs(const ClusterConfig& config, const NodeConfig& node, const rdma::NodeOptions& own) {
  rdma::verbs::VerbsOptions options{
      .node = own,
      .device = node.device,
      .port = node.device_port,
      .address = node.address,
      .service = node.port,
      .peers = {},
      .connections = static_cast<std::uint32_t>(config.nodes.size()),
      .tolerate_swap_stores = config.swap_stores == cluster_config::SwapStores::kTolerated};
  for (const NodeConfig& peer : config.nodes) {
    options.peers.push_back({.node = peer.id, .host = peer.address, .service = peer.port});
  }
  return rdma::verbs::open_verbs_fabric(options);
}

struct Opener {
  Provider provider;
  OpenedFabric (*open)(const ClusterConfig&, const NodeConfig&, const rdma::NodeOptions&);
};

/// The providers' openers, in the order of the enumerators.
constexpr std::array kOpeners{Opener{Provider::kShm, open_shm}, Opener{Provider::kVerbs, open_verbs}};

static_assert(std::equal(kOpeners.begin(), kOpeners.end(), cluster_config::kProviders.begin(),
                         cluster_config::kProviders.end(),
                         [](const Opener& opener, const auto& row) { return opener.provider == row.provider; }),
              "each provider has an opener");

}  // namespace

OpenedFabric open_provider(const ClusterConfig& config, const NodeConfig& node, const rdma::NodeOptions& options) {
  return kOpeners[static_cast<std::size_t>(config.provider)].open(config, node, options);
}

OpenedFabric open_fabric(const ClusterConfig& config, const NodeConfig& node, rdma::Generation generation) {
  // Both were compared on joining. The fabric compares them once more, so that nothing is touched of the memory of a
  // node that has come in by another way.
  const std::uint64_t alike = cluster_config::fingerprint(config) ^ kvstore::hash::mix(cluster_protocol());
  rdma::NodeOptions options{.node = node.id, .generation = generation, .layout = alike};
  if (!config.key_file.empty()) {
    const Result<std::string> secret = cluster_config::read_key(config.key_file);
    if (!secret.ok()) return secret.status();
    options.key = rdma::key_of(*secret);
  }
  return open_provider(config, node, options);
}

Status make_run_directory(const ClusterConfig& config) {
  std::error_code error;
  if (std::filesystem::create_directories(config.run_directory, error))
    std::filesystem::permissions(config.run_directory, std::filesystem::perms::owner_all, error);
  if (!error) return {};
  return {StatusCode::kUnavailable,
          fmt::format("the run directory '{}' cannot be made: {}", config.run_directory, error.message())};
}

Result<std::unique_ptr<membership::Board>> open_board(const ClusterConfig& config, std::function<bool()> give_up) {
  const cluster_config::MembershipConfig& where = config.membership;
  if (where.kind == cluster_config::MembershipKind::kLocal) {
    constexpr std::uint64_t kMicroseconds = 1000;
    return membership::open_local_board(config.run_directory, where.session_timeout_ms * kMicroseconds);
  }
  membership::ZookeeperOptions options;
  options.session_ms = where.session_timeout_ms;
  options.give_up = std::move(give_up);
  for (const std::string& server : where.servers) options.servers += (options.servers.empty() ? "" : ",") + server;
  if (!where.chroot.empty()) options.root = where.chroot;
  if (!where.user.empty()) {
    const Result<std::string> password = cluster_config::read_secret(where.password_file, "ZooKeeper password");
    if (!password.ok()) return password.status();
    options.digest = where.user + ":" + *password;
  }
  return membership::open_zookeeper_board(options);
}

}  // namespace granary::db
