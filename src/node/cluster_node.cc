#include "src/node/cluster_node.h"

#include <fmt/format.h>
#include <granary/limits.h>

#include <algorithm>

#include "cluster_config/keys.h"
#include "src/base/notice.h"
#include "src/db/engine.h"
#include "src/db/shown_name.h"
#include "src/cluster/record_access/regions.h"
#include "src/node/node_needs.h"

namespace granary::db {

using cluster::messages::AskOutcome;
using cluster::messages::Call;
using cluster::messages::QuestionOf;
using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

namespace {

// A message has room for its headers, and for the rest of a result, besides the arguments or the reply.
static_assert(kMaxCallBytes + 1024 <= cluster::messages::MailboxLayout{}.most_bytes);

std::vector<NodeNumber> all_of(const ClusterConfig& config) {
  std::vector<NodeNumber> all;
  for (const NodeConfig& node : config.nodes) all.push_back(node.id);
  return all;
}

}  // namespace

ClusterNode::ClusterNode(const ClusterOptions& options, ClusterConfig config)
    : options_(with_life(options)),
      config_(std::move(config)),
      own_(*config_.find(options.node)),
      ids_(all_of(config_)),
      layout_{.region = cluster::kMailRegion,
              .nodes = static_cast<rdma::NodeId>(ids_.size()),
              .ids = ids_,
              .workers = most_asking_workers(config_)} {}

ClusterOptions ClusterNode::with_life(ClusterOptions options) const {
  options.database.notices = [this, sink = options.database.notices](const Notice& notice) {
    Notice full = notice;
    if (const membership::Generation generation = told_generation_.load(std::memory_order_relaxed); generation != 0) {
      full.generation = generation;
      full.configuration = told_configuration_.load(std::memory_order_relaxed);
    }
    base::tell(sink, full);
  };
  return options;
}

ClusterNode::~ClusterNode() {
  if (const Status left = leave(); !left.ok())
    tell(NoticeSeverity::kWarning, NoticeTopic::kClosing, "leaving the cluster: " + left.message());
}

void ClusterNode::tell(NoticeSeverity severity, NoticeTopic topic, std::string text) const {
  base::tell(options_.database.notices,
             {.severity = severity, .topic = topic, .text = std::move(text), .node = own_.id});
}

Status ClusterNode::leave() {
  use_ = Use::kLeft;
  if (tables_) tables_->leave();
  threads_.leave();
  start_watch_.end();
  enter(watch::Stage::kLeaving);
  // A node that was told to give up has stopped its membership, and has to end it here.
  const bool member = membership_ != nullptr && !left_ && (membership_->status().ok() || start_watch_.gives_up());
  // This may wait for other nodes. So it comes while this node still does what a member has to do when another dies.
  give_back_thread_.reset();
  base::sync_point("cluster.gives_back_at_last");
  if (member && membership_->status().ok()) threads_.give_back_at_last();
  if (recoverer_) recoverer_->stop();
  if (survivor_ != nullptr) survivor_->stop();
  if (peer_watch_ != nullptr) peer_watch_->stop();
  if (call_workers_ != nullptr && call_workers_->end()) call_workers_.reset();
  survivor_worker_.reset();
  own_thread_.reset();
  threads_.drop_left();
  if (member) membership_->stop();
  call_workers_.reset();
  const bool ended_without_log = !left_ && !member && database_ != nullptr && database_->engine().log_has_failed();
  const Status left = member ? end_membership() : ended_without_log ? database_->engine().seen_log_status() : Status();
  left_ |= member || ended_without_log;
  // If the others could not be told that this life is over, the thread goes on to tell them, while this object lives.
  if (membership_ == nullptr || membership_->has_told_end()) membership_thread_.reset();
  leader_.reset();
  service_.end();
  return left;
}

/// Leaves the cluster if the log is whole and the node owes nothing; otherwise the node dies, as far as the others
/// know. They take the log of a node that has left as whole, and none of their records as locked by it: D goes on
/// without the node, and the next start reads its log to the end.
Status ClusterNode::end_membership() {
  const Status closed = database_ != nullptr ? database_->engine().close() : Status();
  base::sync_point("cluster.closed");
  const bool owes = threads_.left_locks() || (database_ != nullptr && database_->engine().owes());
  const bool leaves = closed.ok() && !owes;
  if (start_id_.empty() || !leaves) disconnect();
  const Status ended = leaves ? membership_->leave() : membership_->die();
  if (!ended.ok()) disconnect();  // without a mark it counts as dead, too
  return closed.ok() ? ended : closed;
}

/// Closes the fabric, so that this process lives long enough to say why it ends: the others end a dead node's process,
/// unless that has closed its fabric. Called for a node that nobody uses, since it has not started, or that is about to
/// count as dead, since its log has failed, it still owes something, or it could not tell the others that it has left.
void ClusterNode::disconnect() {
  leader_.reset();
  service_.end();
  fabric_.reset();
}

ClusterStatistics ClusterNode::statistics() const {
  ClusterStatistics sum = threads_.statistics();
  sum.cut_off = service_.cut_off();
  return sum;
}

ClockStatus ClusterNode::clock() const {
  const cluster_config::clock::ClockReport report = clock_->report();
  std::string state(name(report.state));
  if (!report.cause.empty()) state += ": " + report.cause;
  return {.source = std::string(option::word_of<&cluster_config::ClockConfig::kind>(config_.clock)),
          .state = std::move(state),
          .synchronized = report.state == cluster_config::clock::ClockState::kSynchronized,
          .delta_us = report.delta_us,
          .jumps = report.jumps};
}

Result<RunResult> ClusterNode::call(ClusterThread& worker, NodeNumber node, std::string_view procedure,
                                    std::string_view args, std::string& reply) {
  if (config_.find(node) == nullptr) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("calling {} at node {}: {} has no such node", shown_name(procedure), node, config_.file));
  }
  if (node == own_.id) return procedures_.call(worker.worker(), procedure, args, reply);
  if (procedure.size() + args.size() > kMaxCallBytes) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("calling {} at node {}: its name and arguments have {} bytes, and may have {} at most",
                              shown_name(procedure), node, procedure.size() + args.size(), kMaxCallBytes));
  }
  QuestionOf<Call> question(node, {.procedure = procedure, .arguments = args});
  worker.messenger().ask(question);
  if (question.outcome() == AskOutcome::kAnswered) return decode_call_result(question.answer().result, reply);
  // If the call has run, the caller must know that; after kUnavailable it may have run or not.
  const bool has_run = question.outcome() == AskOutcome::kAnswerTooLarge;
  return Status(has_run ? StatusCode::kFailedPrecondition : StatusCode::kUnavailable,
                fmt::format("calling {} at node {}: {}", shown_name(procedure), node, how_it_ended(question)));
}

}  // namespace granary::db
