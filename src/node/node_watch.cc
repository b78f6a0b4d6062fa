#include "src/node/node_watch.h"

#include <utility>

#include <fmt/format.h>

#include "cluster_config/http_address.h"
#include "cluster_config/key_file.h"
#include "src/db/engine.h"
#include "src/node/cluster_node.h"

namespace granary::db {
namespace {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

/// Returns where `own` asks the node, or why it cannot.
watch::Peer peer_of(const NodeConfig& own, const NodeConfig& node) {
  watch::Peer peer{.node = node.id, .host = node.host, .http = {}, .why_not = {}};
  const auto address = cluster_config::http_address_of(node.http);
  if (!address) {
    peer.why_not = "the cluster file gives it no 'http'";
    return peer;
  }
  const cluster_config::HttpAddress asked = *cluster_config::http_asked_at(node);
  peer.http = address->text();
  peer.ip = asked.ip;
  peer.port = asked.port;
  if (asked.loopback() && node.host != own.host) {
    peer.ip.clear();
    peer.why_not = fmt::format("its address {} is reached from its host '{}' only", peer.http, node.host);
  }
  return peer;
}

watch::MembershipReport report_of(const membership::Membership& membership) {
  const auto configuration = membership.configuration();
  watch::MembershipReport report{
      .cluster_id = configuration->cluster_id, .version = configuration->version, .number = configuration->number};
  if (const membership::Member* const leader = configuration->leader(); leader != nullptr) report.leader = leader->id;
  for (const membership::Member& member : configuration->members) {
    report.members.push_back({.node = member.id,
                              .generation = member.generation,
                              .state = std::string(membership::name(member.state)),
                              .release = member.release});
  }
  if (const Status status = membership.status(); !status.ok()) report.lost = status.message();
  return report;
}

}  // namespace

Result<std::unique_ptr<watch::Service>> watch_node(const ClusterConfig& config, const NodeConfig& own,
                                                   std::function<watch::NodeReport()> look) {
  const auto address = cluster_config::http_address_of(own.http);
  if (!address) return std::unique_ptr<watch::Service>();
  watch::ServiceOptions options{
      .listen = {.ip = address->ip, .port = address->port}, .node = own.id, .look = std::move(look)};
  if (!own.http_token_file.empty()) {
    auto token = cluster_config::read_secret(own.http_token_file, "http_token_file");
    if (!token.ok()) return token.status();
    options.listen.token = std::move(token).value();
  }
  for (const NodeConfig& node : config.nodes) options.peers.push_back(peer_of(own, node));
  return watch::Service::start(std::move(options));
}

void ClusterNode::enter(watch::Stage stage) {
  const std::lock_guard lock(stage_mutex_);
  stage_ = stage;
}

/// Called by watch_, which goes before all members that this reads. Each member stays from its stage on until then.
watch::NodeReport ClusterNode::report() const {
  watch::NodeReport report{.cluster = config_.name,
                           .node = own_.id,
                           .host = own_.host,
                           .release = version(),
                           .process = watch::look_at_process()};
  report.epochs = {.period_ms = config_.epoch_ms, .logs = cluster_config::has_logs(config_)};
  {
    const std::lock_guard lock(stage_mutex_);
    report.stage = stage_;
  }
  if (report.stage >= watch::Stage::kRecovering && membership_ != nullptr) report_membership(report);
  if (report.stage >= watch::Stage::kStarting && database_ != nullptr && clock_ != nullptr) report_database(report);
  return report;
}

void ClusterNode::report_membership(watch::NodeReport& report) const {
  report.generation = membership_->generation();
  report.membership = report_of(*membership_);
  const membership::Fence& fence = std::as_const(*membership_).fence();
  report.membership->commits = fence.open(fence.number());
  const std::optional<RecoveryUnderWay> now = recoveries_.under_way();
  for (NodeRecovery& recovery : recoveries()) {
    watch::RecoveryState state{.recovery = std::move(recovery)};
    state.phase = name(state.recovery.phase);
    if (now && now->node == state.recovery.node && now->generation == state.recovery.generation) {
      state.directory = now->directory;
      state.rests_us = now->rests_us;
    }
    report.recoveries.push_back(std::move(state));
  }
}

void ClusterNode::report_database(watch::NodeReport& report) const {
  const epoch::ControlBlock& block = control_block();
  report.epochs.current = block.by_leader.epoch.load(std::memory_order_acquire);
  report.epochs.durable = block.by_leader.durable.load(std::memory_order_acquire);
  report.epochs.durable_here = block.by_node.durable.load(std::memory_order_acquire);
  report.database = database_->statistics();
  report.elsewhere = statistics();
  report.clock = clock();
  if (const Status log = database_->engine().seen_log_status(); !log.ok()) report.log_trouble = log.message();
  if (report.stage == watch::Stage::kServing && membership_->status().ok()) {
    if (const Status held = release_status(); !held.ok()) report.release_trouble = held.message();
  }
}

}  // namespace granary::db
