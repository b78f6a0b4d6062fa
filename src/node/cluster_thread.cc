#include "src/node/cluster_thread.h"

namespace granary::db {

void ClusterThread::Idle::pause(std::uint32_t turn) {
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

ClusterThread::~ClusterThread() {
  remote_->finish();
  if (remote_->has_left_locks()) number_.keep();
  if (on_end_) on_end_(*this);
}

}  // namespace granary::db
