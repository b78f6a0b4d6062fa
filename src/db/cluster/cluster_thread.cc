#include "src/db/cluster/cluster_thread.h"

namespace granary::db {

void ClusterThread::Idle::pause(std::uint32_t turn) {
  thread_.sleeper_->limit(thread_.messenger().most_sleep_us());
  thread_.sleeper_->pause(turn);
}

Result<std::unique_ptr<ClusterThread>> ClusterThread::open(Database& database, dist::NodeParts& node,
                                                           std::uint32_t number) {
  auto worker = database.register_worker();
  if (!worker.ok()) return worker.status();
  auto endpoint = node.fabric.open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  return std::unique_ptr<ClusterThread>(
      new ClusterThread(std::move(*worker), number, node, std::move(endpoint).value()));
}

ClusterThread::ClusterThread(Worker worker, std::uint32_t number, dist::NodeParts& node,
                             std::unique_ptr<rdma::Endpoint> endpoint)
    : worker_(std::move(worker)),
      number_(number),
      scheduler_([this] { remote_->poll(); }, idle_) {
  rdma::Endpoint& door = *endpoint;
  remote_ = std::make_unique<dist::RemoteWorker>(node, *worker_.core(), number, scheduler_, std::move(endpoint));
  sleeper_ = std::make_unique<rdma::mailbox::Sleeper>(door, remote_->messenger().receivers(),
                                                      std::vector<const rdma::mailbox::Sender*>());
}

ClusterThread::~ClusterThread() {
  remote_->finish();
  if (on_end_) on_end_(*this);
  remote_.reset();
}

}  // namespace granary::db
