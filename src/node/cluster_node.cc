#include "src/node/cluster_node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/notice.h"
#include "src/db/engine.h"
#include "src/cluster/record_access/regions.h"

namespace granary::db {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

namespace {

/// Numbers of a node's workers that ask others: those of the application, as many that run calls, and the node's own.
std::uint32_t asking_workers(const ClusterConfig& config) {
  std::uint32_t most = 0;
  for (const NodeConfig& node : config.nodes) most = std::max(most, node.workers);
  return 2 * most + 1;
}

}  // namespace

ClusterNode::ClusterNode(const ClusterOptions& options, ClusterConfig config)
    : options_(options),
      config_(std::move(config)),
      own_(*config_.find(options.node)),
      ids_(nodes()),
      layout_{.region = cluster::kMailRegion,
              .nodes = static_cast<rdma::NodeId>(ids_.size()),
              .ids = ids_,
              .workers = asking_workers(config_)} {
  for (std::uint32_t i = own_.workers; i > 0; --i) free_numbers_.push_back(i - 1);
}

std::vector<NodeNumber> ClusterNode::nodes() const {
  std::vector<NodeNumber> all;
  for (const NodeConfig& node : config_.nodes) all.push_back(node.id);
  return all;
}

void ClusterNode::place(txn::TableCore* core, Placement placement) {
  made_.push_back(core);
  if (!placement.home) return;
  core->place(
      std::make_shared<const txn::Placement>(txn::Placement{.self = own_.id, .home = std::move(placement.home)}));
}

Result<Table> ClusterNode::create_table(std::string_view name, TableOptions options, Placement placement) {
  if (started_) return Status(StatusCode::kFailedPrecondition, "tables of a cluster are made before it starts");
  options.shared = static_cast<bool>(placement.home);
  auto table = database_->create_table(name, options);
  if (table.ok()) place(table->core(), std::move(placement));
  return table;
}

Result<Index> ClusterNode::create_index(const Table& table, std::string_view name, const IndexOptions& options,
                                        Placement placement) {
  if (started_) return Status(StatusCode::kFailedPrecondition, "indexes of a cluster are made before it starts");
  auto index = database_->create_index(table, name, options);
  if (index.ok()) place(index->core(), std::move(placement));
  return index;
}

ClusterNode::~ClusterNode() {
  if (const Status left = leave(); !left.ok())
    tell(NoticeSeverity::kWarning, NoticeTopic::kClosing, "leaving the cluster: " + left.message());
}

void ClusterNode::tell(NoticeSeverity severity, NoticeTopic topic, std::string text) const {
  base::tell(options_.database.notices,
             {.severity = severity, .topic = topic, .text = std::move(text), .node = own_.id});
}

Status ClusterNode::check_no_workers() const {
  const std::lock_guard lock(threads_mutex_);
  std::vector<std::uint32_t> held;
  for (const ClusterThread* thread : threads_) {
    if (thread->number() < own_.workers) held.push_back(thread->number());
  }
  if (held.empty()) return {};
  return {StatusCode::kFailedPrecondition, fmt::format("{} {} of node {} {} still registered; a cluster's workers have "
                                                       "to be destroyed before it is left or destroyed",
                                                       held.size() == 1 ? "worker" : "workers", fmt::join(held, ", "),
                                                       own_.id, held.size() == 1 ? "is" : "are")};
}

Status ClusterNode::leave() {
  start_watch_.end();
  // A node that was told to give up has stopped its membership, and is to end it.
  const bool member = membership_ != nullptr && !left_ && (membership_->status().ok() || start_watch_.gives_up());
  if (peer_watch_ != nullptr) peer_watch_->stop();
  if (call_workers_ != nullptr && call_workers_->end()) call_workers_.reset();
  own_thread_.reset();
  if (member) membership_->stop();
  call_workers_.reset();
  const Status left = member ? end_membership() : Status();
  left_ |= member;
  membership_thread_.reset();
  leader_.reset();
  service_thread_.reset();
  end_service();
  owner_.reset();
  service_endpoint_.reset();
  if (service_slot_ != nullptr) {
    database_->engine().epochs().release_slot(service_slot_);
    service_slot_ = nullptr;
  }
  service_worker_ = {};
  return left;
}

/// Others take a node that has left for one whose log is whole: D goes on without it, and who starts again reads it to its end. So it
/// leaves when that is so, and has died if it cannot be.
Status ClusterNode::end_membership() {
  const Status closed = database_ != nullptr ? database_->engine().close() : Status();
  base::sync_point("cluster.closed");
  const Status ended = closed.ok() ? membership_->leave() : membership_->die();
  return closed.ok() ? ended : closed;
}

// --- workers ---

Result<std::unique_ptr<ClusterThread>> ClusterNode::open_thread(WorkerNumber number) {
  auto thread = ClusterThread::open(*database_, *parts_, std::move(number));
  if (!thread.ok()) return thread.status();
  const std::lock_guard lock(threads_mutex_);
  threads_.push_back(thread->get());
  (*thread)->on_end([this](ClusterThread& ending) { count_in(ending); });
  return thread;
}

Result<std::unique_ptr<ClusterThread>> ClusterNode::register_worker() {
  if (!started_)
    return Status(StatusCode::kFailedPrecondition, "workers of a cluster are registered after it has started");
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(threads_mutex_);
    if (free_numbers_.empty()) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("node {} has {} workers by {}, and all are registered, or have left records locked at "
                                "nodes that could not be reached",
                                own_.id, own_.workers, config_.file));
    }
    number = free_numbers_.back();
    free_numbers_.pop_back();
  }
  return open_thread(WorkerNumber(number, [this](std::uint32_t free) {
    const std::lock_guard lock(threads_mutex_);
    free_numbers_.push_back(free);
  }));
}

namespace {

void add(ClusterStatistics& sum, const cluster::ReachCounters& counters) {
  const auto rounds = [&counters](cluster::Phase phase) {
    return counters.rounds[static_cast<std::size_t>(phase)].load();
  };
  sum.transactions += counters.transactions;
  sum.execute_rounds += rounds(cluster::Phase::kExecute);
  sum.lock_rounds += rounds(cluster::Phase::kLock);
  sum.agree_rounds += rounds(cluster::Phase::kAgree);
  sum.validate_rounds += rounds(cluster::Phase::kValidate);
  sum.write_back_rounds += rounds(cluster::Phase::kWriteBack);
  for (const auto& phase : counters.rounds) sum.rounds += phase.load(std::memory_order_relaxed);
  sum.reads += counters.reads;
  sum.writes += counters.writes;
  sum.compare_swaps += counters.compare_swaps;
  sum.leases += counters.leases;
  sum.messages += counters.messages;
  sum.epoch_waits += counters.epoch_waits;
  sum.location_hits += counters.locations.hits;
  sum.location_misses += counters.locations.misses;
  sum.location_stale += counters.locations.stale;
  sum.unfinished += counters.unfinished;
}

}  // namespace

void ClusterNode::end_service() {
  const std::lock_guard lock(threads_mutex_);
  if (service_ != nullptr) ended_.cut_off += service_->counts().cut_off.load(std::memory_order_relaxed);
  service_.reset();
}

void ClusterNode::count_in(ClusterThread& thread) {
  const std::lock_guard lock(threads_mutex_);
  add(ended_, thread.counters());
  std::erase(threads_, &thread);
}

ClusterStatistics ClusterNode::statistics() const {
  const std::lock_guard lock(threads_mutex_);
  ClusterStatistics sum = ended_;
  for (const ClusterThread* thread : threads_) add(sum, thread->counters());
  if (service_ != nullptr) sum.cut_off += service_->counts().cut_off.load(std::memory_order_relaxed);
  return sum;
}

ClockStatus ClusterNode::clock() const {
  const cluster_config::clock::ClockReport report = clock_->report();
  std::string state(name(report.state));
  if (!report.cause.empty()) state += ": " + report.cause;
  return {.source = cluster_config::name(config_.clock.kind),
          .state = std::move(state),
          .synchronized = report.state == cluster_config::clock::ClockState::kSynchronized,
          .delta_us = report.delta_us,
          .jumps = report.jumps};
}

Result<NodeNumber> ClusterNode::home_of(const Table& table, std::string_view key) const {
  const txn::TableCore* const core = table.core();
  if (std::find(made_.begin(), made_.end(), core) == made_.end()) {
    const std::string_view name = core == nullptr ? "" : table.name();
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("the keys of table '{}' have no home: it was not made by Cluster::create_table", name));
  }
  return core->placement() == nullptr ? own_.id : core->placement()->home(key);
}

Result<RunResult> ClusterNode::call(ClusterThread& worker, NodeNumber node, std::string_view procedure,
                                    std::string_view args, std::string& reply) {
  if (config_.find(node) == nullptr) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("calling '{}' at node {}: {} has no such node", procedure, node, config_.file));
  }
  if (node == own_.id) return procedures_.call(worker.worker(), procedure, args, reply);
  cluster::messages::Ask<cluster::messages::Call> question(node, {.procedure = procedure, .arguments = args});
  worker.messenger().ask(question);
  if (question.outcome() == cluster::messages::AskOutcome::kAnswered) {
    return decode_call_result(question.answer().result, reply);
  }
  return Status(StatusCode::kUnavailable,
                fmt::format("calling '{}' at node {}: {}", procedure, node, name(question.outcome())));
}

}  // namespace granary::db
