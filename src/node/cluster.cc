#include <fmt/format.h>
#include <granary/cluster.h>

#include "src/base/check.h"
#include "src/base/process_mark.h"
#include "src/base/threads.h"
#include "src/base/with_memory.h"
#include "src/node/cluster_node.h"
#include "src/txn/worker_core.h"

namespace granary {

Result<std::unique_ptr<Cluster>> Cluster::join(const ClusterOptions& options) {
  auto node = base::with_threads([&] { return base::with_memory([&] { return db::ClusterNode::join(options); }); });
  if (!node.ok()) return node.status();
  return std::unique_ptr<Cluster>(new Cluster(std::move(node).value()));
}

Cluster::Cluster(std::unique_ptr<db::ClusterNode> node) : node_(std::move(node)) {}
Cluster::~Cluster() {
  if (node_->inherited()) {
    base::keep_for_good(std::move(node_));
    return;
  }
  const Status alone = node_->threads().check_none_registered();
  if (!alone.ok()) base::abort_misuse("a Cluster is destroyed too early: " + alone.message());
}

NodeNumber Cluster::node() const { return node_->node(); }
std::vector<NodeNumber> Cluster::nodes() const { return node_->nodes(); }
Result<Table> Cluster::create_table(std::string_view name, TableOptions options, Placement placement) {
  if (Status usable = node_->check_usable(); !usable.ok()) return usable;
  return node_->tables().create_table(name, options, std::move(placement));
}
Result<Index> Cluster::create_index(const Table& table, std::string_view name, const IndexOptions& options,
                                    Placement placement) {
  if (Status usable = node_->check_usable(); !usable.ok()) return usable;
  return node_->tables().create_index(table, name, options, std::move(placement));
}
Procedures& Cluster::procedures() { return node_->procedures(); }
Status Cluster::start() {
  if (Status usable = node_->check_usable(); !usable.ok()) return usable;
  return base::with_threads([this] { return base::with_memory([this] { return node_->start(); }); });
}
Status Cluster::barrier() {
  if (Status usable = node_->check_usable(); !usable.ok()) return usable;
  return node_->barrier();
}
bool Cluster::rejoined() const { return node_->rejoined(); }
std::uint32_t Cluster::generation() const { return node_->generation(); }
std::uint64_t Cluster::configuration() const { return node_->inherited() ? 0 : node_->configuration(); }
const std::string& Cluster::start_id() const { return node_->start_id(); }
Result<std::unique_ptr<ClusterWorker>> Cluster::register_worker() {
  if (Status usable = node_->check_usable(); !usable.ok()) return usable;
  auto thread = node_->threads().register_worker();
  if (!thread.ok()) return thread.status();
  return std::make_unique<ClusterWorker>(*node_, std::move(thread).value());
}
Database& Cluster::database() { return node_->database(); }
ClusterStatistics Cluster::statistics() const { return node_->inherited() ? ClusterStatistics() : node_->statistics(); }
ClockStatus Cluster::clock() const { return node_->inherited() ? ClockStatus() : node_->clock(); }
Status Cluster::status() const {
  if (Status usable = node_->check_usable(); !usable.ok()) return usable;
  return node_->status();
}
Status Cluster::release_status() const {
  if (Status usable = node_->check_usable(); !usable.ok()) return usable;
  return node_->release_status();
}
std::vector<NodeRecovery> Cluster::recoveries() const {
  return node_->inherited() ? std::vector<NodeRecovery>() : node_->recoveries();
}
Status Cluster::leave() {
  if (Status usable = node_->check_usable(); !usable.ok()) return usable;
  const Status alone = node_->threads().check_none_registered();
  return alone.ok() ? node_->leave() : alone;
}

namespace {

/// Returns an error unless the calling thread may use the worker. A worker that nobody uses yet is the calling thread's
/// from now on, as with Worker::begin().
Status check_thread(const db::ClusterNode& node, db::ClusterThread& thread, std::string_view call) {
  if (Status usable = node.check_usable(); !usable.ok()) return usable;
  txn::WorkerCore* const core = thread.worker().core();
  if (core != nullptr && core->bind()) return {};
  const std::string_view why = core == nullptr
                                   ? "its Worker was moved away"
                                   : "another thread uses the worker; Worker::attach_thread() hands it over";
  return {StatusCode::kFailedPrecondition, fmt::format("{}: {}", call, why)};
}

}  // namespace

ClusterWorker::ClusterWorker(db::ClusterNode& node, std::unique_ptr<db::ClusterThread> thread)
    : node_(node),
      thread_(std::move(thread)) {}
ClusterWorker::~ClusterWorker() {
  if (node_.inherited()) {
    base::keep_for_good(std::move(thread_));
  } else {
    node_.threads().end(std::move(thread_));
  }
}
Worker& ClusterWorker::worker() { return thread_->worker(); }
Status ClusterWorker::run_together(std::uint32_t count, FunctionRef<void(std::uint32_t)> body) {
  if (count == 0 || count > kMostTogether) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("run_together: {} at once; expected 1 to {}", count, kMostTogether));
  }
  if (Status mine = check_thread(node_, *thread_, "run_together"); !mine.ok()) return mine;
  return thread_->run_together(count, body);
}
void ClusterWorker::let_others_run() {
  const txn::WorkerCore* const core = thread_->worker().core();
  if (core != nullptr && core->bound_here()) thread_->let_others_run();
}
Status ClusterWorker::other_reply(std::string_view procedure, std::size_t bytes, std::size_t expected) {
  return Status(StatusCode::kFailedPrecondition,
                fmt::format("'{}' has run, and its reply has {} bytes, not {}: the nodes' programs differ", procedure,
                            bytes, expected));
}

Result<RunResult> ClusterWorker::call(NodeNumber node, std::string_view procedure, std::string_view args,
                                      std::string& reply) {
  if (Status mine = check_thread(node_, *thread_, "call"); !mine.ok()) return mine;
  return node_.call(*thread_, node, procedure, args, reply);
}
Result<RunResult> ClusterWorker::call(const Table& table, std::string_view key, std::string_view procedure,
                                      std::string_view args, std::string& reply) {
  const Result<NodeNumber> home = node_.tables().home_of(table, key);
  return home.ok() ? call(*home, procedure, args, reply) : home.status();
}

}  // namespace granary
