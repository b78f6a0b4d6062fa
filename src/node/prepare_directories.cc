#include "src/node/prepare_directories.h"

#include <algorithm>
#include <vector>

#include "src/node/node_life.h"
#include "src/node/recover_across_hosts.h"
#include "src/node/recover_directories.h"

namespace granary::db {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

namespace {

/// Where E may begin if there is nothing to recover.
constexpr epoch::Epoch kFirstEpoch = 1;

/// Returns the life that a node lives by the newest configuration, 0 if it lives none.
membership::Generation life_now(membership::Membership& membership, NodeNumber node) {
  constexpr std::uint64_t kBrief_us = 1'000;
  membership.step(kBrief_us);
  const auto configuration = membership.configuration();
  const membership::Member* const member = configuration->find(node);
  return member != nullptr && member->live() ? member->generation : 0;
}

/// Recovers all nodes' directories, which are on this host.
Result<epoch::Epoch> prepare_alone(const PreparedNode& node) {
  if (node.own.data_directory.empty()) return kFirstEpoch;
  std::vector<NodeDirectory> all;
  for (const NodeConfig& each : node.config.nodes) {
    const auto life = read_life(node.config, each, node.options.database.salvage);
    if (!life.ok()) return life.status();
    all.push_back({.options = database_options(node.options, node.config, each),
                   .served = life->served,
                   .life_now = [&node, id = each.id] { return life_now(node.membership, id); }});
  }
  return recover_directories(all, node.config.run_directory + "/recovery", node.options.start_timeout_ms, node.files);
}

/// Recovers this node's directory as all agree. All nodes take part if any has a directory.
Result<epoch::Epoch> prepare_together(const PreparedNode& node) {
  if (!cluster_config::has_logs(node.config)) return kFirstEpoch;
  std::vector<membership::NodeId> all;
  for (const NodeConfig& each : node.config.nodes) all.push_back(each.id);
  const OwnDirectory own{.options = database_options(node.options, node.config, node.own), .served = node.served};
  return recover_across_hosts(node.membership, all, own, node.options.start_timeout_ms, node.files);
}

}  // namespace

Options database_options(const ClusterOptions& options, const ClusterConfig& config, const NodeConfig& node) {
  Options database = options.database;
  database.shared_memory = true;
  database.epoch_ms = config.epoch_ms;
  database.snapshot_epochs = config.snapshot_epochs;
  database.max_workers = 2 * node.workers + 2;
  database.numa_node = node.numa_node;
  database.release = config.release;
  database.memory_limit_bytes = node.memory_bytes;
  database.directory = node.data_directory;
  database.log_directories = node.log_directories;
  database.reliable_directory = node.reliable_directory;
  return database;
}

bool sees(const ClusterConfig& config, const NodeConfig& own, const NodeConfig& other) {
  return other.id == own.id || (other.host == own.host && config.directories == cluster_config::Directories::kByHost);
}

bool sees_all(const ClusterConfig& config, const NodeConfig& own) {
  return std::all_of(config.nodes.begin(), config.nodes.end(),
                     [&](const NodeConfig& node) { return sees(config, own, node); });
}

Status prepare_directories(const PreparedNode& node, ClusterPart& part) {
  for (const NodeConfig& other : node.config.nodes) {
    if (other.id == node.own.id || other.data_directory.empty() || node.own.data_directory.empty()) continue;
    if (!sees(node.config, node.own, other)) {
      part.others_elsewhere = true;
      continue;
    }
    part.others.push_back({.directory = other.data_directory});
    const auto theirs = read_life(node.config, other, node.options.database.salvage);
    if (!theirs.ok()) return theirs.status();
  }
  const auto first_epoch = sees_all(node.config, node.own) ? prepare_alone(node) : prepare_together(node);
  if (!first_epoch.ok()) return first_epoch.status();
  part.first_epoch = *first_epoch;
  return {};
}

}  // namespace granary::db
