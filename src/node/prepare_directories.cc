#include "src/node/prepare_directories.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cluster_config/membership/life.h"
#include "recovery/manifest.h"
#include "src/base/test_hooks.h"
#include "src/node/node_life.h"
#include "src/node/recover_across_hosts.h"
#include "src/node/recover_directories.h"

namespace granary::db {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;
using membership::Configuration;

namespace {

/// E may begin here if there is nothing to recover.
constexpr epoch::Epoch kFirstEpoch = 1;

/// Returns the life that a node lives by the newest configuration, 0 if it lives none.
membership::Generation life_now(membership::Membership& membership, NodeNumber node) {
  constexpr std::uint64_t kBrief_us = 1'000;
  membership.step(kBrief_us);
  const auto configuration = membership.configuration();
  const membership::Member* const member = configuration->find(node);
  return member != nullptr && member->live() ? member->generation : 0;
}

/// Recovers the directories of all nodes, which are on this host.
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

/// Recovers this node's directory as all nodes agree. All of them take part if any has a directory.
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
  database.max_workers = 2 * node.workers + 3;
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

bool may_return(const Configuration& found, NodeNumber own, std::uint64_t began) {
  const auto logged = [&](const membership::Member& member) {
    const bool asked = member.state == membership::MemberState::kServing && member.id != own;
    return !asked || (member.quiet.number >= began && member.quiet.logged);
  };
  return found.owed.empty() && std::ranges::all_of(found.members, logged);
}

bool others_serve(const Configuration& found, NodeNumber own) {
  return std::ranges::any_of(found.members, [own](const membership::Member& member) {
    return member.state == membership::MemberState::kServing && member.id != own;
  });
}

std::optional<epoch::Epoch> counts_up_to(const Configuration& found, NodeNumber node) {
  const membership::Member* const member = found.find(node);
  const bool runs = member != nullptr && member->state == membership::MemberState::kServing;
  return runs ? std::optional(member->quiet.epoch) : std::nullopt;
}

epoch::Epoch first_epoch_of_return(const Configuration& found, epoch::Epoch snapshot_epochs) {
  epoch::Epoch first_epoch = kFirstEpoch;
  for (const membership::Member& member : found.members)
    first_epoch = std::max(first_epoch, first_epoch_behind(member.quiet.epoch, snapshot_epochs));
  return first_epoch;
}

namespace {

/// Says which nodes keep a node from coming back (may_return), and why.
std::string who_keeps_out(const Configuration& found, NodeNumber own, std::uint64_t began) {
  std::vector<std::string> reasons;
  for (const membership::Owed& debt : found.owed)
    reasons.push_back(fmt::format("node {} (generation {}) has yet to be recovered", debt.node, debt.generation));
  for (const membership::Member& member : found.members) {
    if (member.state != membership::MemberState::kServing || member.id == own) continue;
    if (member.quiet.number < began) {
      reasons.push_back(fmt::format("node {} has not ended them", member.id));
    } else if (!member.quiet.logged) {
      reasons.push_back(
          fmt::format("node {} has not written them: its disk is slow, or its log has failed", member.id));
    }
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace

Result<std::optional<Configuration>> await_return(const PreparedNode& node) {
  const std::uint64_t began = node.membership.configuration()->number;
  std::optional<Configuration> found;
  bool alone = false;
  const auto holds = [&](const Configuration& newest) {
    alone = !others_serve(newest, node.own.id);
    if (!alone && may_return(newest, node.own.id, began)) found = newest;
    return alone || found.has_value();
  };
  if (node.membership.wait_until(holds, std::uint64_t{node.options.start_timeout_ms} * 1000)) {
    if (found) base::sync_point("return.quiet");
    return found;
  }
  if (const Status member = node.membership.status(); !member.ok()) return member;
  return Status(
      StatusCode::kUnavailable,
      fmt::format("after {} ms not all other nodes have ended the transactions that began before node {} came "
                  "back, or written them to their logs: {}",
                  node.options.start_timeout_ms, node.own.id,
                  who_keeps_out(*node.membership.configuration(), node.own.id, began)));
}

namespace {

/// Reads which life another node's directory tells of, and returns an error unless it is the newest one: the node's log
/// has writes of this node's records. `known` was read before: a life is noted in the directory before it is in the
/// membership.
Status check_other(const PreparedNode& node, const NodeConfig& other, const Configuration& known) {
  const bool salvage = node.options.database.salvage;
  const auto found = read_life(node.config, other, salvage);
  const membership::Member* const member = known.find(other.id);
  if (!found.ok() || salvage || member == nullptr || base::injected("others-data-unchecked")) return found.status();
  if (member->has_data && *found == membership::Life())
    return membership::lost_data(fmt::format("'{}'", other.data_directory));
  if (found->generation == 0 || member->data_life <= found->generation) return {};
  return membership::older_data(other.id, other.data_directory, found->generation, member->data_life, "the membership");
}

/// Returns where E may begin at a node that comes back while others serve. Its own log is over, and it reads the
/// others' logs up to where they are quiet.
Result<epoch::Epoch> prepare_return(const PreparedNode& node, const Configuration& found) {
  const epoch::Epoch first_epoch = first_epoch_of_return(found, node.config.snapshot_epochs);
  if (!node.served || node.own.data_directory.empty()) return first_epoch;
  const auto manifest = recovery::read_manifest(node.files, node.own.data_directory);
  if (manifest.status().code() == StatusCode::kNotFound)
    return membership::lost_data(fmt::format("'{}'", node.own.data_directory));
  if (!manifest.ok()) return manifest.status();
  return std::max(first_epoch, recovery::greatest_epoch(*manifest) + 1);
}

}  // namespace

Status prepare_directories(const PreparedNode& node, ClusterPart& part,
                           const std::optional<Configuration>& returns_by) {
  const std::optional<Configuration>& found = returns_by;
  part.notes_admission = true;
  const auto known = node.membership.configuration();
  for (const NodeConfig& other : node.config.nodes) {
    if (other.id == node.own.id || other.data_directory.empty() || node.own.data_directory.empty()) continue;
    if (!sees(node.config, node.own, other)) {
      part.others_elsewhere = true;
      continue;
    }
    part.others.push_back(
        {.directory = other.data_directory, .up_to = found ? counts_up_to(*found, other.id) : std::nullopt});
    if (const Status whole = check_other(node, other, *known); !whole.ok()) return whole;
  }
  const auto first_epoch = found                             ? prepare_return(node, *found)
                           : sees_all(node.config, node.own) ? prepare_alone(node)
                                                             : prepare_together(node);
  if (!first_epoch.ok()) return first_epoch.status();
  part.first_epoch = *first_epoch;
  return {};
}

}  // namespace granary::db
