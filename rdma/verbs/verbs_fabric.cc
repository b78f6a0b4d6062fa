#include "rdma/verbs/verbs_fabric.h"

#include <atomic>
#include <cerrno>
#include <mutex>

#include <fmt/format.h>

#include "rdma/cut_lives.h"
#include "rdma/verbs/acceptor.h"
#include "rdma/verbs/bells.h"
#include "rdma/verbs/device.h"
#include "rdma/verbs/device_context.h"
#include "rdma/verbs/endpoint.h"
#include "rdma/verbs/handshake.h"
#include "rdma/verbs/open_connections.h"
#include "rdma/verbs/own_region.h"
#include "rdma/verbs/probe.h"

namespace granary::rdma::verbs {
namespace {

class VerbsFabric final : public Fabric {
 public:
  explicit VerbsFabric(const VerbsOptions& options) : options_(options) {}

  Status open();

  const NodeOptions& node() const override { return options_.node; }
  std::string_view provider() const override { return "verbs"; }
  Status register_region(const RegionSpec& spec, memory::Region& region) override;
  Status listen() override;
  Result<std::unique_ptr<Endpoint>> open_endpoint() override;
  Status cut_off(NodeId node, Generation last) override;

 private:
  Status let_in();
  Status bind(const DeviceChoice& choice);

  const VerbsOptions options_;
  CutLives cut_lives_;
  OpenConnections open_connections_{cut_lives_};
  Channel channel_;
  CmId listener_;
  std::unique_ptr<OwnRegion> own_;
  std::unique_ptr<DeviceContext> device_;
  std::unique_ptr<Bells> bells_;
  std::unique_ptr<Acceptor> acceptor_;
  std::mutex letting_in_;  ///< held while this node begins to let peers in, and while lives are cut off
  std::unique_ptr<EventThread> events_;
  std::atomic<std::uint32_t> endpoints_{0};
};

Status VerbsFabric::open() {
  const Result<DeviceChoice> choice = choose_device(list_devices(), options_);
  if (!choice.ok()) return choice.status();
  if (Status status = bind(*choice); !status.ok()) return status;
  auto device = DeviceContext::open(*choice, *listener_);
  if (!device.ok()) return device.status();
  device_ = std::move(device).value();
  auto own = OwnRegion::map();
  if (!own.ok()) return own.status();
  own_ = std::move(own).value();
  return device_->add_region({.id = kOwnRegion}, own_->region());
}

Status VerbsFabric::bind(const DeviceChoice& choice) {
  Result<sockaddr_storage> address = socket_address(choice.address, options_.service);
  if (!address.ok()) return address.status();
  channel_ = open_channel();
  rdma_cm_id* id = nullptr;
  if (channel_ == nullptr || rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    return cm_error("use rdma_cm (load the module rdma_ucm)");
  }
  listener_.reset(id);
  if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&*address)) == 0) return {};
  if (errno == EADDRINUSE) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("another process has the service {} of {}; end it, or give this node another",
                              options_.service, choice.address));
  }
  return cm_error(fmt::format("bind to {} on {}", choice.address, choice.device));
}

Status VerbsFabric::register_region(const RegionSpec& spec, memory::Region& region) {
  if (events_ != nullptr) return Status(StatusCode::kFailedPrecondition, "regions are registered before listen()");
  return device_->add_region(spec, region);
}

Status VerbsFabric::listen() {
  if (events_ != nullptr) return Status(StatusCode::kFailedPrecondition, "the fabric listens already");
  if (Status status = let_in(); !status.ok()) return status;
  return probe(*this, *own_, options_.tolerate_swap_stores);
}

Status VerbsFabric::let_in() {
  auto bells = Bells::open(*device_);
  if (!bells.ok()) return bells.status();
  auto wake = Alarm::open();
  if (!wake.ok()) return wake.status();
  const std::lock_guard lock(letting_in_);
  bells_ = std::move(bells).value();
  auto acceptor = Acceptor::listen(options_.node, cut_lives_, *device_, *own_, *bells_, *listener_);
  if (!acceptor.ok()) return acceptor.status();
  acceptor_ = std::move(acceptor).value();
  events_ = std::make_unique<EventThread>(
      channel_.get(), [this] { acceptor_->clean_up(); }, bells_->descriptor(), [this] { bells_->answer(); },
      *std::move(wake));
  return {};
}

Result<std::unique_ptr<Endpoint>> VerbsFabric::open_endpoint() {
  if (events_ == nullptr) return Status(StatusCode::kFailedPrecondition, "endpoints are opened after listen()");
  return VerbsEndpoint::open(options_, *device_, *own_, *bells_, open_connections_, channel_.get(),
                             endpoints_.fetch_add(1, std::memory_order_relaxed) + 1);
}

/// Cuts off lives. They are noted first, so that a connection which is not found below is refused.
Status VerbsFabric::cut_off(NodeId node, Generation last) {
  if (Status status = cut_lives_.add(options_.node, node, last); !status.ok()) return status;
  open_connections_.cut_off(node, last);
  const std::lock_guard lock(letting_in_);
  if (events_ != nullptr) events_->call([&] { acceptor_->cut_off(node, last); });
  return {};
}

}  // namespace

Result<std::unique_ptr<Fabric>> open_verbs_fabric(const VerbsOptions& options) {
  auto fabric = std::make_unique<VerbsFabric>(options);
  if (Status status = fabric->open(); !status.ok()) return status;
  return std::unique_ptr<Fabric>(std::move(fabric));
}

}  // namespace granary::rdma::verbs
