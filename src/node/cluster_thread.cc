#include "src/node/cluster_thread.h"

#include <exception>

#include "src/base/give_way.h"

namespace granary::db {

void ClusterThread::Idle::pause(std::uint32_t turn) {
  if (turn >= rdma::mailbox::Sleeper::kSpins) thread_.messenger().step_all();
  thread_.sleeper_->limit(thread_.messenger().most_sleep_us());
  thread_.sleeper_->pause(turn);
}

Result<std::unique_ptr<ClusterThread>> ClusterThread::open(Database& database, cluster::NodeParts& node,
                                                           WorkerNumber number) {
  auto worker = database.register_worker();
  if (!worker.ok()) return worker.status();
  auto endpoint = node.fabric.open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  return std::unique_ptr<ClusterThread>(
      new ClusterThread(std::move(*worker), std::move(number), node, std::move(endpoint).value()));
}

ClusterThread::ClusterThread(Worker worker, WorkerNumber number, cluster::NodeParts& node,
                             std::unique_ptr<rdma::Endpoint> endpoint)
    : number_(std::move(number)),
      worker_(std::move(worker)),
      scheduler_([this] { remote_->poll(); }, idle_) {
  rdma::Endpoint& door = *endpoint;
  remote_ =
      std::make_unique<cluster::RemoteWorker>(node, *worker_.core(), number_.value(), scheduler_, std::move(endpoint));
  sleeper_ = std::make_unique<rdma::mailbox::Sleeper>(door, remote_->messenger().receivers());
}

void ClusterThread::finish() {
  remote_->finish();
  finished_ = true;
}

ClusterThread::~ClusterThread() {
  if (!finished_) finish();
  if (remote_->has_left_locks()) number_.keep();
  if (on_end_) on_end_(*this);
}

Status ClusterThread::run_together(std::uint32_t count, FunctionRef<void(std::uint32_t)> body) {
  if (scheduler_.current() != nullptr)
    return Status(StatusCode::kFailedPrecondition, "run_together is called by a body that it runs");
  std::exception_ptr thrown;  // the first exception that has left a body or kept one from beginning
  try {
    for (std::uint32_t i = 0; i < count; ++i) {
      scheduler_.spawn([body, i, &thrown] {
        if (thrown != nullptr) return;
        try {
          body(i);
        } catch (...) {
          if (thrown == nullptr) thrown = std::current_exception();
        }
      });
    }
  } catch (...) {
    thrown = std::current_exception();
  }
  scheduler_.run();
  worker_.core()->end_dropped();  // a body may have dropped what an earlier one had left open
  // Waits for writes under way here, since afterwards nobody may poll for their completions for long.
  remote_->await_arrival();
  worker_.core()->tidy_remote();
  if (thrown != nullptr) std::rethrow_exception(thrown);
  return {};
}

/// Lets the other bodies have their turn, and then gives the processor to another thread, for which all of them may
/// wait.
void ClusterThread::let_others_run() {
  if (scheduler_.current() == nullptr) return;
  scheduler_.yield();
  base::give_way();
}

/// If a home is a member and cannot be reached, this fails after kPatience, so that the recoverer gives up its claim:
/// another one may reach the home.
Result<cluster::SettleCounts> ClusterThread::settle(std::span<const log::Debt> debts, std::span<char> room,
                                                    std::function<bool()> may_act) {
  constexpr std::chrono::seconds kPatience(5);
  cluster::Reach& reach = remote_->reach();
  return cluster::settle_all(debts, {.scheduler = reach.scheduler,
                                     .endpoint = reach.endpoint,
                                     .peers = reach.peers,
                                     .waiter = reach.waiter,
                                     .messenger = reach.messenger,
                                     .room = room,
                                     .connect_timeout_us = reach.connect_timeout_us,
                                     .lives = reach.lives,
                                     .may_act = std::move(may_act),
                                     .patience = kPatience});
}

}  // namespace granary::db
