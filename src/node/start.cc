// Takes a node from joining to serving: all nodes join, the leader gives them E, each says that it serves and learns the
// others' tables.

#include <fmt/format.h>

#include <algorithm>

#include "src/node/cluster_node.h"
#include "src/node/prepare_directories.h"
#include "src/node/remote_files.h"
#include "src/db/engine.h"
#include "src/cluster/cluster_epoch/member.h"

namespace granary::db {

using membership::Configuration;

namespace {

/// The name of this start, from a configuration that all have joined. No node joins while others serve, so no generation
/// changes until the next start.
std::string start_id_of(const Configuration& configuration) {
  std::string id = fmt::format("{:016x}", configuration.cluster_id);
  for (const membership::Member& member : configuration.members)
    id += fmt::format("-{}.{}", member.id, member.generation);
  return id;
}

}  // namespace

/// Called by the membership's thread, after the fence has moved.
void ClusterNode::follow(const Configuration& configuration) {
  cluster::act_in(configuration.number, control_block());
  if (leader_ != nullptr) leader_->follow(configuration);
}

Status ClusterNode::start() {
  if (!start_id_.empty()) return Status(StatusCode::kFailedPrecondition, "the node has started already");
  Status started = or_given_up(start_with_all());
  if (started.ok()) start_watch_.end();
  return started;
}

Status ClusterNode::start_with_all() {
  if (Status status = fabric_->listen(); !status.ok()) return status;
  Status status = service_.begin({.id = own_.id,
                                  .database = *database_,
                                  .fabric = *fabric_,
                                  .layout = layout_,
                                  .mailboxes = mail_->base(),
                                  .data_directory = own_.data_directory,
                                  .control = [this] { return peers_->reached(); }});
  if (!status.ok()) return status;
  static_assert(cluster::EpochLeader::buffer_bytes(cluster_config::kMostNodes) <= cluster::BufferPool::kChunkBytes);
  constexpr std::uint64_t kMicroseconds = 1000;
  leader_ = std::make_unique<LeaderThread>(*fabric_, ids_, std::uint64_t{config_.epoch_ms} * kMicroseconds,
                                           pool_->take(cluster::BufferPool::kChunkBytes));
  follow(
      *membership_->configuration());  // which the membership may have told of before there was a leader, or an engine
  membership_thread_ = std::make_unique<membership::MembershipThread>(*membership_);
  status = membership_->be_ready();
  if (status.ok()) status = peers_->await_members();
  if (status.ok()) status = peers_->meet_all(*fabric_);
  if (status.ok()) status = peers_->await_admission(control_block(), *leader_);
  if (!status.ok()) return status;
  auto own = threads_.open(WorkerNumber(layout_.workers - 1));
  if (!own.ok()) return own.status();
  own_thread_ = std::move(own).value();
  peers_->ask_with(own_thread_->messenger());
  status = take_from_others();
  if (status.ok()) status = learn_tables();
  if (status.ok()) status = begin_call_workers();
  if (!status.ok()) return status;
  start_id_ = start_id_of(*membership_->configuration());
  tables_->close();
  threads_.admit();
  peers_->note_start();
  watch_peers();
  status = peers_->barrier();
  // All have opened what they keep by now.
  return status.ok() ? life_.note_served(membership_->life()) : status;
}

void ClusterNode::watch_peers() {
  constexpr std::uint64_t kStill_us = 1'000'000;
  constexpr std::uint64_t kStillEpochs = 20;
  const std::uint64_t still_us = std::max(kStill_us, kStillEpochs * config_.epoch_ms * 1000);
  peer_watch_ =
      std::make_unique<PeerWatch>(PeerReports(own_.id, cluster_config::has_logs(config_), still_us),
                                  options_.database.notices, [this](const std::function<void(const PeerView&)>& look) {
                                    if (!membership_->status().ok()) return;
                                    const auto configuration = membership_->configuration();
                                    const epoch::ControlBlock& block = control_block();
                                    look({.configuration = *configuration,
                                          .epoch = block.by_leader.epoch.load(std::memory_order_acquire),
                                          .durable = block.by_leader.durable.load(std::memory_order_acquire),
                                          .waits_for = leader_->waits_for()});
                                  });
  database_->engine().set_obstacle([this] { return peer_watch_->obstacle(); });
}

Status ClusterNode::release_status() const {
  if (!membership_->status().ok()) return membership_->status();
  const std::string obstacle = peer_watch_ == nullptr ? std::string() : peer_watch_->obstacle();
  return obstacle.empty() ? Status() : Status(StatusCode::kUnavailable, obstacle);
}

/// The last part of the recovery of nodes that do not see each other's directories: nobody looks at tables, or writes, before all nodes have done it.
Status ClusterNode::take_from_others() {
  if (sees_all(config_, own_) || !cluster_config::has_logs(config_)) return {};
  for (const auto& node : config_.nodes) {
    if (own_.data_directory.empty() || node.data_directory.empty() || sees(config_, own_, node)) continue;
    const auto ask = [this](auto& question) { return peers_->ask(question); };
    RemoteFiles files(node.id, {.list = ask, .read = ask});
    if (Status taken = database_->engine().take_from(files, {.directory = RemoteFiles::kDirectory}); !taken.ok())
      return taken;
  }
  if (Status had = database_->engine().have_all(); !had.ok()) return had;
  return peers_->barrier();
}

Status ClusterNode::learn_tables() {
  const auto own = service_.description();
  for (const auto& node : config_.nodes) {
    if (node.id == own_.id) continue;
    cluster::messages::Ask<cluster::messages::Describe> question(node.id, {});
    Status status = peers_->ask(question);
    if (status.ok() && own) status = compare_tables(*own, node.id, question.answer());
    if (!status.ok()) return status;
    const auto configuration = membership_->configuration();
    const membership::Member* const member = configuration->find(node.id);
    (void)directory_.learn(node.id, member->generation, question.answer());  // nothing was known of it before
  }
  return {};
}

Status ClusterNode::begin_call_workers() {
  std::vector<std::unique_ptr<ClusterThread>> workers;
  for (std::uint32_t i = 0; i < own_.workers; ++i) {
    auto worker = threads_.open(WorkerNumber(layout_.workers / 2 + i));
    if (!worker.ok()) return worker.status();
    workers.push_back(std::move(worker).value());
  }
  call_workers_ = std::make_unique<CallWorkers>(service_.calls(), procedures_, std::move(workers));
  return {};
}

}  // namespace granary::db
