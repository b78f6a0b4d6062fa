#include "src/node/node_service.h"

#include <fmt/format.h>

#include "src/base/file.h"
#include "src/db/engine.h"

namespace granary::db {
namespace {

/// How many calls of other nodes may wait for a worker.
constexpr std::size_t kMostCalls = 1024;

}  // namespace

Status NodeService::begin(const Node& node) {
  Engine& engine = node.database.engine();
  auto worker = node.database.register_worker();
  if (!worker.ok()) return worker.status();
  worker_ = std::move(worker).value();
  epochs_ = &engine.epochs();
  slot_ = epochs_->acquire_slot();
  if (slot_ == nullptr) {
    return Status(
        StatusCode::kResourceExhausted,
        fmt::format("all {} epoch slots of node {} are taken, and its service of other nodes needs one; start "
                    "the cluster before transactions are opened",
                    epoch::EpochManager::kMaxSlots, node.id));
  }
  auto endpoint = node.fabric.open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  endpoint_ = std::move(endpoint).value();
  tables_ = engine.schema().tables();
  owner_ = std::make_unique<cluster::messages::Owner>(*worker_.core(), *slot_, tables_, engine.region(),
                                                      node.layout.most_bytes);
  calls_ = std::make_unique<cluster::messages::CallQueue>(kMostCalls);
  if (!node.data_directory.empty()) log_files_ = std::make_unique<LogFiles>(node.data_directory, base::system_files());
  const cluster::messages::ServiceParts parts{
      .layout = node.layout,
      .mailboxes = node.mailboxes,
      .own_node = node.id,
      .endpoint = *endpoint_,
      .owner = *owner_,
      .calls = calls_.get(),
      .files = log_files_.get(),
      .control = [control = node.control](rdma::NodeId, std::string_view) { return control(); }};
  {
    const std::lock_guard lock(mutex_);
    service_ = std::make_unique<cluster::messages::Service>(parts);
  }
  thread_ = std::make_unique<cluster::messages::ServiceThread>(*service_, *endpoint_, *worker_.core());
  return {};
}

void NodeService::end() {
  thread_.reset();
  {
    const std::lock_guard lock(mutex_);
    if (service_ != nullptr) cut_off_ += service_->counts().cut_off.load(std::memory_order_relaxed);
    service_.reset();
  }
  owner_.reset();
  endpoint_.reset();
  if (slot_ != nullptr) epochs_->release_slot(slot_);
  slot_ = nullptr;
  worker_ = {};
}

void NodeService::forget(rdma::NodeId node) {
  const std::lock_guard lock(mutex_);
  if (service_ != nullptr) service_->forget(node);
}

std::uint64_t NodeService::cut_off() const {
  const std::lock_guard lock(mutex_);
  return cut_off_ + (service_ == nullptr ? 0 : service_->counts().cut_off.load(std::memory_order_relaxed));
}

}  // namespace granary::db
