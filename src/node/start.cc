// Takes a node from joining to serving: all nodes join, the leader gives them E, each loads what other hosts' logs have
// of its records, says that it serves, and learns the others' tables.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "src/node/cluster_node.h"
#include "src/node/prepare_directories.h"
#include "src/base/test_hooks.h"
#include "src/db/engine.h"
#include "src/cluster/cluster_epoch/member.h"

namespace granary::db {

using membership::Configuration;

namespace {

/// For how long the survivor's thread waits for an answer. Epochs stand still while it does not act in a membership, so
/// it must not wait for a node that may be dead in the next one; it asks again instead.
constexpr std::uint64_t kSurvivorAsks_us = 200'000;

/// Returns a name for this start, from a configuration that all nodes have joined. Nodes that began together have the
/// same one; that of a node that came back later differs.
std::string start_id_of(const Configuration& configuration) {
  std::string id = fmt::format("{:016x}", configuration.cluster_id);
  for (const membership::Member& member : configuration.members)
    id += fmt::format("-{}.{}", member.id, member.generation);
  return id;
}

/// Asks a node for its tables until it has answered.
Result<cluster::messages::DescribeAnswer> tables_of(NodeNumber node, const Peers& peers) {
  auto told = ask_for_tables(node, [&peers](cluster::messages::Question& question) -> Result<bool> {
    if (Status asked = peers.ask(question); !asked.ok()) return asked;
    return true;
  });
  if (!told.ok()) return told.status();
  return *std::move(*told);
}

}  // namespace

/// Passes a configuration on to all that follows it. The membership's thread calls it after the fence has moved.
void ClusterNode::follow(const Configuration& configuration) {
  told_configuration_.store(configuration.version, std::memory_order_relaxed);
  recoveries_.follow(configuration);
  const std::lock_guard lock(survivor_mutex_);
  if (survivor_ != nullptr) survivor_->follow(configuration);
}

Status ClusterNode::check_use(std::string_view call, Use expected) const {
  if (use_ == expected) return {};
  const auto refuse = [&](std::string_view why) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("{} of node {}: {}", call, own_.id, why));
  };
  switch (use_) {
    case Use::kJoined: return refuse("the node has not started yet, call start() before");
    case Use::kStarted: return refuse("the node has started already");
    case Use::kFailed: return refuse("its start has failed, leave the cluster and join it again");
    case Use::kLeft: break;
  }
  return refuse("the node has left its cluster, join it again");
}

/// Starts the node. A start that ends early, by an exception as well, leaves threads and connections behind that only
/// leave() takes apart.
Status ClusterNode::start() {
  if (Status fits = check_use("start()", Use::kJoined); !fits.ok()) return fits;
  use_ = Use::kFailed;
  Status started = or_given_up(start_serving());
  if (started.ok()) {
    use_ = Use::kStarted;
    start_watch_.end();
    enter(watch::Stage::kServing);
  }
  return started;
}

Status ClusterNode::start_serving() {
  Status status = begin_threads();
  if (status.ok()) status = membership_->rejoined() ? come_back() : start_together();
  if (status.ok()) begin_transactions();
  // By now all nodes have opened their data.
  return status.ok() ? life_.note_served(membership_->life()) : status;
}

/// Begins the threads that other nodes need of this one, and those that follow the membership.
Status ClusterNode::begin_threads() {
  const auto joined = membership_->configuration();
  for (const membership::Member& member : joined->members) {
    if (member.state != membership::MemberState::kDead) continue;
    if (Status cut = fabric_->cut_off(member.id, member.generation); !cut.ok()) return cut;
  }
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
  auto own = threads_.open(WorkerNumber(layout_.workers - 1));
  if (!own.ok()) return own.status();
  own_thread_ = std::move(own).value();
  peers_->ask_with(own_thread_->messenger());
  survivor_parts_ = std::make_unique<cluster::NodeParts>(*parts_);
  survivor_parts_->timeout_us = kSurvivorAsks_us;
  auto survivor = threads_.open(WorkerNumber(layout_.workers - 2), *survivor_parts_);
  if (!survivor.ok()) return survivor.status();
  survivor_worker_ = std::move(survivor).value();
  // Taken before there are transactions, which may use up the pool: dead nodes are recovered all the same.
  const std::size_t room_bytes = cluster::BufferPool::whole_chunks(cluster::sufficient_settle_room_bytes());
  settle_room_ = {pool_->take(room_bytes), room_bytes};
  recoverer_.emplace(recoverer_parts());
  {
    const std::lock_guard lock(survivor_mutex_);
    survivor_ = std::make_unique<Survivor>(*membership_, database_->engine().epochs(), survivor_duties());
  }
  follow(*membership_->configuration());  // the membership may have told of it before there was a survivor
  if (membership_thread_ == nullptr) membership_thread_ = std::make_unique<membership::MembershipThread>(*membership_);
  return {};
}

/// Starts the node together with all others. It serves only when all nodes have loaded all, and all of these lives go
/// on. So a node that ends meanwhile and is started again finds nobody to come back to whose data are not whole.
Status ClusterNode::start_together() {
  Status status = membership_->be_ready();
  if (status.ok()) status = peers_->meet_all(*fabric_);
  if (status.ok()) status = peers_->await_admission(control_block(), *leader_);
  if (status.ok()) base::sync_point("start.admitted");
  if (status.ok()) status = take_from_elsewhere();
  if (status.ok() && takes_from_elsewhere())
    status = peers_->barrier();  // nobody looks at tables, or writes, before all nodes have loaded all
  const auto all_go_on = [this](const Configuration& now) { return peers_->check_start(now); };
  if (status.ok()) status = all_go_on(*membership_->configuration());  // else the log stays empty, and restricts nobody
  if (status.ok()) status = begin_to_serve(all_go_on);
  if (status.ok()) peers_->note_served();
  if (status.ok()) status = learn_all_tables();
  if (status.ok()) status = begin_workers();
  return status.ok() ? peers_->barrier() : status;
}

/// Returns how many barriers there are in a start of all nodes together.
std::uint64_t ClusterNode::start_barriers() const { return takes_from_elsewhere() ? 2 : 1; }

/// Starts a node while others serve. They begin to use this node when it says that it serves, so it must have and know
/// everything by then.
///
/// One of the others may end meanwhile. This node has loaded its own records from that node's log before, or waits for
/// it (take_from_running), and transactions that were committed later have none of these records. It learns the tables
/// of that node's next life as soon as that serves (learn_returned).
Status ClusterNode::come_back() {
  base::sync_point("return.loaded");
  const auto others = peers_->serving_lives();
  if (!others.ok()) return others.status();
  Status status = peers_->meet(*fabric_, *others);
  base::sync_point("return.met");
  if (status.ok()) status = take_from_elsewhere();
  if (status.ok()) status = learn_tables_of(*others);
  base::sync_point("return.learned");
  if (status.ok()) status = membership_->be_ready();
  base::sync_point("return.ready");
  if (status.ok()) status = begin_workers();
  if (status.ok()) status = peers_->await_admission(control_block(), *leader_);
  base::sync_point("return.admitted");
  // If all of the others have ended, nobody knows the present epoch, and the node must not serve: it would lead, and
  // let itself in with the epoch that it began with, and the others may have released results of later ones. They may
  // all have begun again by now as well, and then they wait for this node to start together with them.
  const auto any_serves = [&](const Configuration& now) { return peers_->check_any_serves(*others, now); };
  if (status.ok()) status = any_serves(*membership_->configuration());
  if (status.ok()) status = begin_to_serve(any_serves);
  return status.ok() ? peers_->catch_up(*others, start_barriers()) : status;
}

/// Serves, once the leader has let this node in. The others may have released results, or moved D on with none, up to
/// the present epoch without it. So before the node has a transaction, its manifest says that its log is whole up to
/// there. Then, after a loss of power, the epoch up to which all logs are whole covers D.
Status ClusterNode::begin_to_serve(FunctionRef<Status(const Configuration&)> may) {
  Status status = database_->engine().note_admitted();
  base::sync_point("start.noted");
  return status.ok() ? membership_->serve(may) : status;
}

/// Opens the workers that run calls of other nodes. The calls are queued until transactions of this node may begin.
Status ClusterNode::begin_workers() {
  if (Status status = open_call_workers(); !status.ok()) return status;
  start_id_ = start_id_of(*membership_->configuration());
  tables_->close();
  peers_->note_start();
  watch_peers();
  give_back_periodically();
  may_learn_.store(true, std::memory_order_release);
  return {};
}

void ClusterNode::begin_transactions() {
  threads_.admit();
  call_workers_->begin();
}

void ClusterNode::watch_peers() {
  constexpr std::uint64_t kStill_us = 1'000'000;
  constexpr std::uint64_t kStillEpochs = 20;
  const std::uint64_t still_us = std::max(kStill_us, kStillEpochs * config_.epoch_ms * 1000);
  constexpr std::uint64_t kIntervals = 2;
  const std::uint64_t keeps_us = kIntervals * options_.database.checkpoint_interval_s * 1'000'000;
  peer_watch_ = std::make_unique<PeerWatch>(
      PeerReports(own_.id, cluster_config::has_logs(config_), still_us, keeps_us), options_.database.notices,
      [this] { end_without_log(); },
      [this](const std::function<void(const PeerView&)>& look) {
        if (!membership_->status().ok()) return;
        const auto configuration = membership_->configuration();
        const epoch::ControlBlock& block = control_block();
        look({.configuration = *configuration,
              .nodes = ids_,
              .epoch = block.by_leader.epoch.load(std::memory_order_acquire),
              .durable = block.by_leader.durable.load(std::memory_order_acquire),
              .waits_for = leader_->waits_for(),
              .least_logged = leader_->least_logged(),
              .recovering = recoveries_.under_way(),
              .can_be_recovered = [&](membership::NodeId dead) { return can_be_recovered(*configuration, dead); }});
      });
  database_->engine().set_obstacle([this] { return peer_watch_->obstacle(); });
}

/// Begins to give back what ended workers have left locked. That waits for homes that do not answer, so it has a thread
/// of its own.
void ClusterNode::give_back_periodically() {
  using Clock = base::PeriodicThread::Clock;
  static constexpr std::chrono::milliseconds kPeriod(100);
  give_back_thread_ = std::make_unique<base::PeriodicThread>("gr-give-back", Clock::now() + kPeriod, [this] {
    if (membership_->status().ok()) threads_.give_back_left();
    return Clock::now() + kPeriod;
  });
}

/// Ends the membership if the log has failed, as if the process had been killed, so that the others recover the node.
/// While it is a member, D stays at all nodes. The notice comes first: over shared memory the others kill the process
/// of a dead node.
void ClusterNode::end_without_log() {
  const Engine& engine = database_->engine();
  if (!options_.leaves_when_log_fails || !engine.log_has_failed() || !membership_->status().ok()) return;
  const std::string why = "its log has failed: " + engine.seen_log_status().message();
  tell(NoticeSeverity::kError, NoticeTopic::kMembership,
       "this node ends its membership, so that the others go on, because " + why);
  static_cast<void>(membership_->die(why));  // if the board cannot be told of it, at least the node's mark is gone
}

Status ClusterNode::release_status() const {
  if (!membership_->status().ok()) return membership_->status();
  const std::string obstacle = peer_watch_ == nullptr ? std::string() : peer_watch_->obstacle();
  return obstacle.empty() ? Status() : Status(StatusCode::kUnavailable, obstacle);
}

/// Whether the node may be asked. A node that has yet to start asks others only for their files, which they give as
/// soon as they are members.
bool ClusterNode::may_ask(NodeNumber node) const {
  const bool started = may_learn_.load(std::memory_order_relaxed);
  return started ? membership_->living().reached(node) : membership_->configuration()->lives(node);
}

Status ClusterNode::learn_all_tables() {
  for (const NodeNumber node : ids_) {
    if (node == own_.id) continue;
    const auto asked_in = membership_->configuration();
    const auto theirs = tables_of(node, *peers_);
    if (!theirs.ok()) return theirs.status();
    const ServingLife life{.node = node, .generation = asked_in->find(node)->generation};
    if (Status learned = learn_tables(life, *theirs); !learned.ok()) return learned;
  }
  return {};
}

Status ClusterNode::learn_tables_of(const std::vector<ServingLife>& others) {
  for (const ServingLife& life : others) {
    const auto theirs =
        ask_for_tables(life.node, [&](cluster::messages::Question& question) { return peers_->ask(question, life); });
    if (!theirs.ok()) return theirs.status();
    if (!*theirs) continue;
    if (Status learned = learn_tables(life, **theirs); !learned.ok()) return learned;
  }
  return peers_->check_any_serves(others);
}

/// Learns the tables of another node's life. Precondition: no transaction has begun.
Status ClusterNode::learn_tables(const ServingLife& life, const cluster::messages::DescribeAnswer& theirs) {
  if (Status same = compare_tables(service_.description(), life.node, theirs); !same.ok()) return same;
  static_cast<void>(directory_.learn(life.node, life.generation, theirs));
  learned_[life.node] = life.generation;
  return {};
}

bool ClusterNode::has_immutable_tables() const {
  const std::vector<txn::TableCore*> tables = database_->engine().schema().tables();
  return std::ranges::any_of(tables, [](const txn::TableCore* table) { return table->is_immutable(); });
}

/// Learns after the barrier what the other nodes have sealed: each has sealed before it came to the barrier. If one
/// does not answer, reads of its tables are validated as before.
Status ClusterNode::barrier() {
  if (Status fits = check_use("barrier()", Use::kStarted); !fits.ok()) return fits;
  const Status reached = peers_->barrier();
  if (!reached.ok() || !has_immutable_tables()) return reached;
  const auto asked_in = membership_->configuration();
  for (const NodeNumber node : ids_) {
    const membership::Member* const member = asked_in->find(node);
    if (node == own_.id || member == nullptr || !member->live()) continue;
    if (const auto theirs = tables_of(node, *peers_); theirs.ok())
      directory_.note_sealed(node, member->generation, *theirs);
  }
  return {};
}

Status ClusterNode::open_call_workers() {
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
