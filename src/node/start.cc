// How a node gets from joining to serving: all nodes join, the leader gives them E, each says that it serves, and learns the others'
// tables.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "src/node/cluster_node.h"
#include "src/node/remote_files.h"
#include "src/db/engine.h"
#include "src/cluster/cluster_epoch/member.h"

namespace granary::db {

using cluster::messages::Ask;
using cluster::messages::DescribeAnswer;
using membership::Configuration;
using membership::MemberState;

namespace {

/// Calls of other nodes that may wait for a worker.
constexpr std::size_t kMostCalls = 1024;

/// The beginning of the note of a member that refuses to start.
constexpr std::string_view kRefusal = "refused: ";

void pause_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

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
  cluster::act_in(configuration.version, control_block());
  if (leader_ != nullptr) leader_->follow(configuration);
}

Status ClusterNode::start() {
  if (started_) return Status(StatusCode::kFailedPrecondition, "the node has started already");
  Status started = or_given_up(start_with_all());
  if (started.ok()) start_watch_.end();
  return started;
}

Status ClusterNode::start_with_all() {
  if (Status status = fabric_->listen(); !status.ok()) return status;
  if (Status status = begin_service(); !status.ok()) return status;
  static_assert(cluster::EpochLeader::buffer_bytes(cluster_config::kMostNodes) <= cluster::BufferPool::kChunkBytes);
  constexpr std::uint64_t kMicroseconds = 1000;
  leader_ = std::make_unique<LeaderThread>(*fabric_, nodes(), std::uint64_t{config_.epoch_ms} * kMicroseconds,
                                           pool_->take(cluster::BufferPool::kChunkBytes));
  follow(
      *membership_->configuration());  // which the membership may have told of before there was a leader, or an engine
  membership_thread_ = std::make_unique<membership::MembershipThread>(*membership_);
  Status status = await_members();
  if (status.ok()) status = meet_all();
  if (status.ok()) status = await_admission();
  if (!status.ok()) return status;
  auto own = open_thread(WorkerNumber(layout_.workers - 1));
  if (!own.ok()) return own.status();
  own_thread_ = std::move(own).value();
  status = take_from_others();
  if (status.ok()) status = learn_tables();
  if (status.ok()) status = begin_call_workers();
  if (!status.ok()) return status;
  start_id_ = start_id_of(*membership_->configuration());
  started_ = true;
  watch_peers();
  status = barrier();
  return status.ok() ? note_served() : status;
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

/// All have opened what they keep by now: from then on a directory without data has lost them.
Status ClusterNode::note_served() {
  if (own_.data_directory.empty() || served_) return {};
  membership::Life life = membership_->life();
  life.served = served_ = true;
  return membership::write_life(base::system_files(), own_.data_directory, life);
}

Status ClusterNode::begin_service() {
  auto worker = database_->register_worker();
  if (!worker.ok()) return worker.status();
  service_worker_ = std::move(worker).value();
  service_slot_ = database_->engine().epochs().acquire_slot();
  if (service_slot_ == nullptr) {
    return Status(
        StatusCode::kResourceExhausted,
        fmt::format("all {} epoch slots of node {} are taken, and its service of other nodes needs one; start "
                    "the cluster before transactions are opened",
                    epoch::EpochManager::kMaxSlots, own_.id));
  }
  auto endpoint = fabric_->open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  service_endpoint_ = std::move(endpoint).value();
  tables_ = database_->engine().schema().tables();
  owner_ = std::make_unique<cluster::messages::Owner>(*service_worker_.core(), *service_slot_, tables_,
                                                      database_->engine().region());
  calls_ = std::make_unique<cluster::messages::CallQueue>(kMostCalls);
  if (!own_.data_directory.empty()) log_files_ = std::make_unique<LogFiles>(own_.data_directory, base::system_files());
  service_ = std::make_unique<cluster::messages::Service>(
      cluster::messages::ServicePlace{.layout = layout_,
                                      .mailboxes = mail_->base(),
                                      .own_node = own_.id,
                                      .endpoint = *service_endpoint_,
                                      .owner = *owner_,
                                      .calls = calls_.get(),
                                      .files = log_files_.get(),
                                      .control = [this](rdma::NodeId, std::string_view) { return answer_control(); }});
  service_thread_ =
      std::make_unique<cluster::messages::ServiceThread>(*service_, *service_endpoint_, *service_worker_.core());
  return {};
}

/// Until all of the cluster file's nodes have joined.
Status ClusterNode::await_members() {
  const std::vector<NodeNumber> wanted = nodes();
  const auto all = [&](const Configuration& configuration) {
    return configuration.missing(wanted).empty() || !refusal_by(configuration).empty();
  };
  const bool joined = membership_->wait_until(all, std::uint64_t{options_.start_timeout_ms} * 1000);
  if (const std::string refusal = refusal_by(*membership_->configuration()); !refusal.empty())
    return {StatusCode::kFailedPrecondition, refusal};
  if (joined) return {};
  if (!membership_->status().ok()) return membership_->status();
  const auto missing = membership_->configuration()->missing(wanted);
  return Status(StatusCode::kUnavailable,
                fmt::format("after {} ms these nodes of {} have not joined: {}; start them, or raise start_timeout_ms",
                            options_.start_timeout_ms, config_.file, fmt::join(missing, ", ")));
}

/// Connects with every node once. A difference that keeps two of them apart for good (another key, program or layout) shows
/// here on both sides, before one waits for the other.
Status ClusterNode::meet_all() {
  auto endpoint = fabric_->open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  constexpr std::uint64_t kTurn_us = 200'000;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.start_timeout_ms);
  for (const NodeNumber node : nodes()) {
    for (bool met = node == own_.id; !met;) {
      const Status connected = (*endpoint)->connect(node, kTurn_us).status();
      met = connected.ok();
      if (connected.code() == StatusCode::kFailedPrecondition) return refuse_start(connected);
      if (met) continue;
      if (!membership_->status().ok()) return membership_->status();
      const auto configuration = membership_->configuration();
      if (const std::string refusal = refusal_by(*configuration); !refusal.empty())
        return {StatusCode::kFailedPrecondition, refusal};
      const bool gone = !configuration->lives(node);
      if (gone || std::chrono::steady_clock::now() > end) {
        return Status(StatusCode::kUnavailable,
                      fmt::format("node {} {}: {}", node, gone ? "has left or died" : "cannot be connected with",
                                  connected.message()));
      }
    }
  }
  return {};
}

/// The others may try to connect only when this node has ended; so it says why where they look, too.
Status ClusterNode::refuse_start(Status why) {
  (void)membership_->say(std::string(kRefusal) + why.message().substr(0, membership::kMostNoteBytes - kRefusal.size()));
  return why;
}

/// The note of a node that refused to start in this start of the cluster; empty if none did.
std::string ClusterNode::refusal_by(const Configuration& configuration) const {
  for (const membership::Member& member : configuration.members) {
    const auto former = former_lives_.find(member.id);
    const bool before = former != former_lives_.end() && former->second == member.generation;
    if (before || member.id == own_.id || !member.note.starts_with(kRefusal)) continue;
    return fmt::format("node {} does not start with the others: {}", member.id, member.note.substr(kRefusal.size()));
  }
  return {};
}

/// Until the leader has given this node the cluster's E.
Status ClusterNode::await_admission() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.start_timeout_ms);
  while (!cluster::may_serve(control_block())) {
    if (!membership_->status().ok()) return membership_->status();
    if (const std::string refusal = refusal_by(*membership_->configuration()); !refusal.empty())
      return {StatusCode::kFailedPrecondition, refusal};
    if (std::chrono::steady_clock::now() > end) {
      const Status why = leader_->status();
      return Status(
          StatusCode::kUnavailable,
          why.ok() ? "the leader of the cluster's epochs does not let this node in: see its output" : why.message());
    }
    pause_briefly();
  }
  return membership_->serve();
}

template <typename Request>
Status ClusterNode::ask(Ask<Request>& question) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.start_timeout_ms);
  for (;;) {
    own_thread_->messenger().ask(question);
    if (question.outcome() == cluster::messages::AskOutcome::kAnswered) return {};
    if (!membership_->status().ok()) return membership_->status();
    const auto configuration = membership_->configuration();
    if (const std::string refusal = started_ ? "" : refusal_by(*configuration); !refusal.empty())
      return Status(StatusCode::kFailedPrecondition, refusal);
    const bool gone = !configuration->lives(question.node());
    if (gone || std::chrono::steady_clock::now() > end) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} {}: {}", question.node(), gone ? "has left or died" : "does not answer",
                                name(question.outcome())));
    }
    pause_briefly();
  }
}

/// The last part of the recovery of nodes that do not see each other's directories: nobody looks at tables, or writes, before all nodes have done it.
Status ClusterNode::take_from_others() {
  if (sees_all() || !cluster_config::has_logs(config_)) return {};
  for (const auto& node : config_.nodes) {
    if (own_.data_directory.empty() || node.data_directory.empty() || sees(node)) continue;
    RemoteFiles files(node.id, {.list = [this](auto& question) { return ask(question); },
                                .read = [this](auto& question) { return ask(question); }});
    if (Status taken = database_->engine().take_from(files, RemoteFiles::kDirectory); !taken.ok()) return taken;
  }
  if (Status had = database_->engine().have_all(); !had.ok()) return had;
  return barrier();
}

Status ClusterNode::learn_tables() {
  for (const auto& node : config_.nodes) {
    if (node.id == own_.id) continue;
    Ask<cluster::messages::Describe> question(node.id, {});
    Status status = ask(question);
    if (status.ok()) status = compare_tables(node.id, question.answer());
    if (!status.ok()) return status;
    const auto configuration = membership_->configuration();
    const membership::Member* const member = configuration->find(node.id);
    directory_.learn(node.id, member->generation, question.answer());
  }
  return {};
}

Status ClusterNode::compare_tables(NodeNumber node, const DescribeAnswer& said) const {
  DescribeAnswer own;
  // The owner is the service's; descriptions do not change any more, and are read only.
  if (owner_->answer(cluster::messages::Describe{}, own) != cluster::messages::Verdict::kDone) return {};
  std::map<std::uint32_t, const cluster::messages::TableDescription*> theirs;
  for (const auto& table : said.tables) theirs.emplace(table.id, &table);
  for (const auto& mine : own.tables) {
    const auto other = theirs.find(mine.id);
    if (other != theirs.end() && other->second->fingerprint == mine.fingerprint) continue;
    const std::string there =
        other == theirs.end() ? "has none there" : "has '" + other->second->name + "' there, or made it otherwise";
    return Status(
        StatusCode::kFailedPrecondition,
        fmt::format("tables differ: table {} is '{}' here, and node {} {}; all nodes make the same tables in the "
                    "same order",
                    mine.id, mine.name, node, there));
  }
  if (said.tables.size() == own.tables.size()) return {};
  return Status(
      StatusCode::kFailedPrecondition,
      fmt::format("tables differ: {} shared ones here, {} at node {}; all nodes make the same tables in the same order",
                  own.tables.size(), said.tables.size(), node));
}

Status ClusterNode::begin_call_workers() {
  std::vector<std::unique_ptr<ClusterThread>> workers;
  for (std::uint32_t i = 0; i < own_.workers; ++i) {
    auto worker = open_thread(WorkerNumber(layout_.workers / 2 + i));
    if (!worker.ok()) return worker.status();
    workers.push_back(std::move(worker).value());
  }
  call_workers_ = std::make_unique<CallWorkers>(*calls_, procedures_, std::move(workers));
  return {};
}

// --- barriers: each node counts those that it has reached, and looks until no other has reached fewer; who has left in order
// has nothing left to do ---

bool ClusterNode::has_left(NodeNumber node) const {
  const auto configuration = membership_->configuration();
  const membership::Member* const member = configuration->find(node);
  return member != nullptr && member->state == MemberState::kLeft;
}

std::string ClusterNode::answer_control() const {
  const std::uint64_t reached = barriers_.load(std::memory_order_acquire);
  return {reinterpret_cast<const char*>(&reached), sizeof reached};
}

Status ClusterNode::barrier() {
  const std::uint64_t mine = barriers_.load(std::memory_order_relaxed) + 1;
  barriers_.store(mine, std::memory_order_release);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.barrier_timeout_ms);
  for (const auto& node : config_.nodes) {
    if (node.id == own_.id) continue;
    for (std::uint64_t reached = 0; reached < mine; pause_briefly()) {
      Ask<cluster::messages::Control> question(node.id, {});
      const Status asked = ask(question);
      if (!asked.ok() && has_left(node.id)) break;
      if (!asked.ok()) return asked;
      const std::string& bytes = question.answer().bytes;
      if (bytes.size() == sizeof reached) std::memcpy(&reached, bytes.data(), sizeof reached);
      if (reached >= mine || std::chrono::steady_clock::now() < end) continue;
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} lives, and has not come to barrier {} after {} ms (it has come to {}): it is "
                                "still busy, or its program waits for something else",
                                node.id, mine, options_.barrier_timeout_ms, reached));
    }
  }
  return {};
}

}  // namespace granary::db
