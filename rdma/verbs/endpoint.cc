#include "rdma/verbs/endpoint.h"

#include <poll.h>

#include <algorithm>

#include <fmt/format.h>

#include "rdma/verbs/advice.h"
#include "rdma/verbs/handshake.h"
#include "src/base/region_mark.h"
#include "src/base/tsc_clock.h"

namespace granary::rdma::verbs {
namespace {

constexpr ConnectionId kPlaceMask = 0xffff;

}  // namespace

Result<std::unique_ptr<Endpoint>> VerbsEndpoint::open(const VerbsOptions& options, const DeviceContext& device,
                                                      OwnRegion& own, Bells& bells, OpenConnections& open_connections,
                                                      rdma_event_channel* events, std::uint32_t number) {
  OwnRegion::Word word = own.take();
  if (!word)
    return Status(StatusCode::kResourceExhausted, "this node has too many endpoints and connections; use fewer");
  auto alarm = Alarm::open();
  if (!alarm.ok()) return alarm.status();
  std::unique_ptr<VerbsEndpoint> endpoint(
      new VerbsEndpoint(options, device, std::move(word), *std::move(alarm), bells, open_connections, events, number));
  endpoint->notices_.reset(ibv_create_comp_channel(device.verbs()));
  if (endpoint->notices_ == nullptr) return cm_error("make a completion channel");
  auto completions =
      device.make_completion_queue(device.choice().connections * device.limits().outstanding, endpoint->notices_.get());
  if (!completions.ok()) return completions.status();
  endpoint->completions_ = std::move(completions).value();
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

Connection* VerbsEndpoint::find(ConnectionId id) const {
  const ConnectionId place = id & kPlaceMask;
  if (place >= places_.size()) return nullptr;
  Connection* connection = places_[place].get();
  return connection != nullptr && connection->id == id && !connection->retired ? connection : nullptr;
}

Result<NodeAddress> VerbsEndpoint::address_of(NodeId peer) const {
  if (peer == options_.node.node) return NodeAddress{peer, device_.choice().address, options_.service};
  for (const NodeAddress& address : options_.peers) {
    if (address.node == peer) return address;
  }
  return Status(StatusCode::kUnavailable, fmt::format("no address is known of node {}; add it to the peers", peer));
}

Status VerbsEndpoint::make_way(NodeId peer) {
  std::uint32_t living = 0;
  for (const std::unique_ptr<Connection>& connection : places_) {
    if (connection == nullptr || connection->retired) continue;
    if (!connection->broken()) ++living;
    if (connection->peer != peer) continue;
    if (!connection->broken())
      return Status(StatusCode::kAlreadyExists, fmt::format("this endpoint is connected to node {} already", peer));
    retire(*connection);
    return make_way(peer);
  }
  if (living < device_.choice().connections) return {};
  return Status(StatusCode::kResourceExhausted,
                fmt::format("this endpoint has {} connections, as many as VerbsOptions::connections says", living));
}

std::unique_ptr<Connection> VerbsEndpoint::new_connection(NodeId peer, const NodeAddress& address) {
  const auto place = static_cast<std::size_t>(std::find(places_.begin(), places_.end(), nullptr) - places_.begin());
  if (place == places_.size()) {
    places_.emplace_back();
    uses_.push_back(0);
  }
  const ConnectionId id = static_cast<ConnectionId>(place) | ConnectionId{uses_[place]++} << 16;
  return std::make_unique<Connection>(id, peer, place_of(address), device_.limits().outstanding, open_connections_,
                                      alarms_, alarm_);
}

Result<ConnectionId> VerbsEndpoint::connect(NodeId peer, std::uint64_t timeout_us) {
  const std::uint64_t deadline_us = base::monotonic_us() + timeout_us;
  attend_alarms();
  const Result<NodeAddress> address = address_of(peer);
  if (!address.ok()) return address.status();
  if (Status status = make_way(peer); !status.ok()) return status;
  std::unique_ptr<Connection> connection = new_connection(peer, *address);
  const Request request{.node = options_.node.node,
                        .generation = options_.node.generation,
                        .endpoint = number_,
                        .layout = options_.node.layout,
                        .serial = ++serial_,
                        .target = peer};
  Result<Introduced> introduced =
      shake_hands(device_, completions_.get(), request, options_.node.key, *address, deadline_us, events_, *connection);
  if (!introduced.ok()) return introduced.status();
  if (Status status = connection->open(std::move(introduced->id), introduced->answer); !status.ok()) return status;
  const ConnectionId id = connection->id;
  Connection& made = *connection;
  places_[id & kPlaceMask] = std::move(connection);
  if (Status status = await_welcome(made, introduced->answer.welcome, deadline_us); !status.ok()) {
    retire(made);
    return status;
  }
  return id;
}

Status VerbsEndpoint::await_welcome(Connection& connection, std::uint16_t place, std::uint64_t deadline_us) {
  const RemoteAddress welcome{connection.peer, kOwnRegion, connection.regions().generation(),
                              OwnRegion::offset_of(place)};
  do {
    if (Status status = read_word(connection, welcome, deadline_us); !status.ok()) return status;
  } while (word_.value().load(std::memory_order_acquire) == 0);
  return {};
}

Status VerbsEndpoint::read_word(Connection& connection, RemoteAddress from, std::uint64_t deadline_us) {
  const Operation read = Operation::read(word_.at(), from, sizeof(std::uint64_t));
  if (post(connection.id, {&read, 1}, Signal::kYes, 0) != PostResult::kPosted) {
    if (Status broken = connection.status(); !broken.ok()) return broken;
    return Status(StatusCode::kUnavailable, "the peer's answer names no place in its memory");
  }
  while (connection.unpolled == 0) {
    if (base::monotonic_us() > deadline_us) connection.fail("the peer did not answer in time");
    if (connection.broken() && !connection.buried) bury(connection);
    collect();
  }
  reports_.drop(connection.id);
  connection.unpolled = 0;
  return connection.status();
}

void VerbsEndpoint::disconnect(ConnectionId id) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  connection->fail("this node has disconnected it");
  if (!connection->buried) bury(*connection);
  retire(*connection);
}

Status VerbsEndpoint::status(ConnectionId id) const {
  const Connection* connection = find(id);
  return connection != nullptr ? connection->status()
                               : Status(StatusCode::kUnavailable, "this connection has been given up; connect again");
}

Generation VerbsEndpoint::peer_generation(ConnectionId id) const {
  const Connection* connection = find(id);
  return connection != nullptr ? connection->regions().generation() : 0;
}

std::uint64_t VerbsEndpoint::peer_region_bytes(ConnectionId id, RegionId region) const {
  const Connection* connection = find(id);
  return connection != nullptr ? connection->regions().bytes(region) : 0;
}

PostResult VerbsEndpoint::post(ConnectionId id, std::span<const Operation> chain, Signal signal, std::uint64_t tag) {
  base::outside_region();
  Connection* connection = find(id);
  if (connection == nullptr || connection->broken()) return PostResult::kBroken;
  const PostResult checked = check_chain(chain, limits(), device_.regions(), connection->regions());
  if (checked != PostResult::kPosted) return checked;
  if (!connection->queue.fits(chain.size())) return PostResult::kFull;
  if (signal == Signal::kYes) reports_.expect();  // first, as there may be no memory for it
  connection->post(device_, chain, signal, tag);
  return PostResult::kPosted;
}

std::size_t VerbsEndpoint::poll(std::span<Completion> completions) {
  base::outside_region();
  if (reports_.size() < completions.size()) collect();
  attend_alarms();
  const std::size_t count = std::min(completions.size(), reports_.size());
  for (std::size_t i = 0; i < count; ++i) {
    completions[i] = reports_.take();
    Connection& connection = *places_[completions[i].connection & kPlaceMask];
    if (--connection.unpolled == 0 && connection.retired) retire(connection);
  }
  return count;
}

PostResult VerbsEndpoint::ring(ConnectionId id, BellId bell) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->broken()) return PostResult::kBroken;
  if (!connection->queue.fits(1)) return PostResult::kFull;
  connection->ring(bell);
  return PostResult::kPosted;
}

/// Sleeps. The queue is armed before it is looked into for the last time, so a completion is seen or makes a notice.
/// Rings and breakages leave the alarm raised. It is cleared before attend_alarms() and the caller look for their
/// cause.
bool VerbsEndpoint::sleep(std::uint64_t timeout_us) {
  base::outside_region();
  ibv_req_notify_cq(completions_.get(), 0);
  const bool in_time = collect() || !reports_.empty() || await_notice(timeout_us);
  attend_alarms();
  return in_time;
}

bool VerbsEndpoint::await_notice(std::uint64_t timeout_us) {
  pollfd waiting[2] = {{.fd = notices_->fd, .events = POLLIN, .revents = 0},
                       {.fd = alarm_.descriptor(), .events = POLLIN, .revents = 0}};
  const timespec timeout{static_cast<time_t>(timeout_us / 1'000'000), static_cast<long>(timeout_us % 1'000'000 * 1000)};
  if (::ppoll(waiting, 2, &timeout, nullptr) == 0) return false;
  if (waiting[0].revents != 0) {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(notices_.get(), &queue, &context) == 0) ibv_ack_cq_events(queue, 1);
  }
  if (waiting[1].revents != 0) alarm_.clear();
  return true;
}

bool VerbsEndpoint::collect() {
  constexpr int kBatch = 16;
  ibv_wc done[kBatch];
  int count = kBatch;
  bool any = false;
  while (count == kBatch) {
    count = ibv_poll_cq(completions_.get(), kBatch, done);
    for (int i = 0; i < count; ++i) settle(done[i]);
    any |= count > 0;
  }
  return any;
}

void VerbsEndpoint::settle(const ibv_wc& done) {
  Connection& connection = *places_[done.wr_id >> SendQueue::kPositionBits];
  if (done.status == IBV_WC_SUCCESS) {
    connection.queue.complete(done.wr_id & SendQueue::kPositionMask,
                              [&](std::uint64_t tag) { report(connection, tag, CompletionStatus::kDone); });
  } else if (!connection.broken()) {
    connection.fail(completion_advice(done.status));
    alarms_.fetch_add(1, std::memory_order_relaxed);
  }
}

void VerbsEndpoint::report(Connection& connection, std::uint64_t tag, CompletionStatus status) {
  ++connection.unpolled;
  reports_.add({.tag = tag, .connection = connection.id, .status = status});
}

void VerbsEndpoint::attend_alarms() {
  for (std::uint32_t alarms; (alarms = alarms_.load(std::memory_order_acquire)) != attended_;) {
    attended_ = alarms;
    for (const std::unique_ptr<Connection>& connection : places_) {
      if (connection != nullptr && connection->broken() && !connection->buried) bury(*connection);
    }
  }
}

/// Buries a broken connection. The queue is emptied also before the queue pair is destroyed, since some drivers (mlx5)
/// take the pair's completions out of the queue as they destroy the pair.
void VerbsEndpoint::bury(Connection& connection) {
  collect();
  connection.close();
  collect();
  connection.queue.abandon([&](std::uint64_t tag) { report(connection, tag, CompletionStatus::kBroken); });
  connection.buried = true;
}

void VerbsEndpoint::retire(Connection& connection) {
  if (!connection.buried) bury(connection);
  connection.retired = true;
  if (connection.unpolled == 0) places_[connection.id & kPlaceMask].reset();
}

}  // namespace granary::rdma::verbs
