#include "rdma/verbs/handshake.h"
#include "src/base/tsc_clock.h"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace granary::rdma::verbs {
namespace {

/// The device sends again after 4.096 us x 2^14 = 67 ms, so a host that is gone is noticed in one or two seconds.
constexpr std::uint8_t kAckTimeout = 14;
constexpr std::uint8_t kRetries = 7;
/// The status that rdma_cm reports when the other side refused with an answer of its own.
constexpr int kRefusedByPeer = 28;

/// One attempt to connect. Its steps end early if the deadline passes.
class Attempt {
 public:
  Attempt(const DeviceContext& device, const Request& request, const NodeAddress& address, std::uint64_t deadline_us)
      : device_(device),
        request_(request),
        address_(address),
        deadline_us_(deadline_us) {}

  Status find_route(CmTarget& target);
  Status make_queue_pair(ibv_cq* completions);
  /// Asks the peer, and returns its answer, which may be a refusal.
  Result<Answer> ask();
  /// Moves the id to `channel`, which gets its events from now on.
  Result<CmId> hand_over(rdma_event_channel* channel);

 private:
  int left_ms() const {
    const std::uint64_t now = base::monotonic_us();
    return now >= deadline_us_ ? 1 : static_cast<int>((deadline_us_ - now) / 1000 + 1);
  }
  Status trouble(const std::string& what) const {
    return Status(StatusCode::kUnavailable, fmt::format("node {} at {} {}", address_.node, place_of(address_), what));
  }
  /// Waits for one event. Returns OK if it is the expected one.
  Status await(rdma_cm_event_type expected);
  Status explain_event(const rdma_cm_event& event) const;
  /// Returns the answer of a peer that refused, if it did.
  std::optional<Answer> refusal() const;

  const DeviceContext& device_;
  const Request& request_;
  const NodeAddress& address_;
  const std::uint64_t deadline_us_;
  Channel channel_;
  CmId id_;
  CmEvent event_;
};

Status Attempt::find_route(CmTarget& target) {
  Result<sockaddr_storage> to = socket_address(address_.host, address_.service);
  if (!to.ok()) return to.status();
  Result<sockaddr_storage> from = socket_address(device_.choice().address, 0);
  if (!from.ok()) return from.status();
  channel_ = open_channel();
  rdma_cm_id* id = nullptr;
  if (channel_ == nullptr || rdma_create_id(channel_.get(), &id, &target, RDMA_PS_TCP) != 0)
    return cm_error("use rdma_cm");
  id_.reset(id);
  if (rdma_resolve_addr(id, reinterpret_cast<sockaddr*>(&*from), reinterpret_cast<sockaddr*>(&*to), left_ms()) != 0) {
    return trouble(fmt::format("cannot be reached from {}: {}", device_.choice().address, std::strerror(errno)));
  }
  if (Status status = await(RDMA_CM_EVENT_ADDR_RESOLVED); !status.ok()) return status;
  std::uint8_t ack_timeout = kAckTimeout;
  rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout,
                  sizeof(ack_timeout));  // if this fails, the default stays
  if (rdma_resolve_route(id, left_ms()) != 0) return trouble(fmt::format("has no route: {}", std::strerror(errno)));
  return await(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

Status Attempt::make_queue_pair(ibv_cq* completions) {
  if (id_->verbs != device_.verbs())
    return trouble(fmt::format("is not reached through {}; correct its address", device_.choice().device));
  ibv_qp_init_attr attributes = device_.queue_pair(completions, device_.limits().outstanding);
  if (rdma_create_qp(id_.get(), device_.domain(), &attributes) == 0) return {};
  return Status(StatusCode::kResourceExhausted,
                fmt::format("{} has no queue pair left: {}", device_.choice().device, std::strerror(errno)));
}

Result<Answer> Attempt::ask() {
  rdma_conn_param parameters{};
  parameters.private_data = &request_;
  parameters.private_data_len = sizeof(request_);
  parameters.initiator_depth = device_.choice().reads_out;
  parameters.responder_resources = 0;  // the peer never READs through this queue pair
  parameters.retry_count = kRetries;
  parameters.rnr_retry_count = kRetries;
  if (rdma_connect(id_.get(), &parameters) != 0)
    return trouble(fmt::format("cannot be asked: {}", std::strerror(errno)));
  const Status established = await(RDMA_CM_EVENT_ESTABLISHED);
  if (const std::optional<Answer> refused = refusal()) return *refused;
  if (!established.ok()) return established;
  const rdma_conn_param& given = event_->param.conn;
  const auto answer = read_answer({static_cast<const std::byte*>(given.private_data), given.private_data_len});
  if (!answer) return trouble("answers in a way that no release of Granary does; correct its address");
  return *answer;
}

Result<CmId> Attempt::hand_over(rdma_event_channel* channel) {
  event_.reset();
  if (rdma_migrate_id(id_.get(), channel) != 0) return cm_error("move a connection to its event channel");
  return std::move(id_);
}

Status Attempt::await(rdma_cm_event_type expected) {
  event_.reset();
  event_ = next_event(channel_.get(), deadline_us_);
  if (event_ == nullptr)
    return trouble("does not answer in time: see that it runs, and that the network lets RDMA through");
  if (event_->event == expected) return {};
  return explain_event(*event_);
}

std::optional<Answer> Attempt::refusal() const {
  if (event_ == nullptr || event_->event != RDMA_CM_EVENT_REJECTED || event_->status != kRefusedByPeer) return {};
  const rdma_conn_param& given = event_->param.conn;
  return read_answer({static_cast<const std::byte*>(given.private_data), given.private_data_len});
}

Status Attempt::explain_event(const rdma_cm_event& event) const {
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return trouble(
          fmt::format("is not reachable from {}: correct the address, or the route to it", device_.choice().address));
    case RDMA_CM_EVENT_ROUTE_ERROR: return trouble("has no route: see that the subnet manager or the network works");
    case RDMA_CM_EVENT_REJECTED:
      return event.status == kRefusedByPeer ? trouble("is no node of Granary; correct its address")
                                            : trouble("does not listen: start it, or correct its address");
    case RDMA_CM_EVENT_UNREACHABLE:
      return trouble("does not answer: see that it runs, and that the network lets RDMA through");
    default: return trouble(fmt::format("broke the connection off ({}); try again", rdma_event_str(event.event)));
  }
}

}  // namespace

Result<Introduced> shake_hands(const DeviceContext& device, ibv_cq* completions, Request request, const ClusterKey& key,
                               const NodeAddress& address, std::uint64_t deadline_us, rdma_event_channel* channel,
                               CmTarget& target) {
  make_fresh(request.challenge);
  while (true) {
    Attempt attempt(device, request, address, deadline_us);
    if (Status status = attempt.find_route(target); !status.ok()) return status;
    if (Status status = attempt.make_queue_pair(completions); !status.ok()) return status;
    const Result<Answer> answer = attempt.ask();
    if (!answer.ok()) return answer.status();
    const bool challenged = answer->refusal == Refusal::kChallenge && request.proof == Proof{};
    if (challenged) {
      request.proof = proof_of(key, request, answer->token);
      continue;
    }
    if (answer->refusal != Refusal::kNone) return explain(*answer, request, place_of(address));
    if (!equal(answer->token, proof_of(key, request, *answer)))
      return explain({.node = answer->node, .refusal = Refusal::kKey}, request, place_of(address));
    Result<CmId> id = attempt.hand_over(channel);
    if (!id.ok()) return id.status();
    return Introduced{std::move(id).value(), *answer};
  }
}

Result<sockaddr_storage> socket_address(const std::string& host, std::uint16_t service) {
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(service).c_str(), nullptr, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, ::freeaddrinfo);
  if (error != 0) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("'{}' is no IP address and no known host: {}", host, ::gai_strerror(error)));
  }
  sockaddr_storage address{};
  std::memcpy(&address, list->ai_addr, std::min<std::size_t>(list->ai_addrlen, sizeof(address)));
  return address;
}

std::string place_of(const NodeAddress& address) { return fmt::format("{}:{}", address.host, address.service); }

}  // namespace granary::rdma::verbs
