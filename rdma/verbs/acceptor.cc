#include "rdma/verbs/acceptor.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/test_hooks.h"

namespace granary::rdma::verbs {
namespace {

constexpr int kBacklog = 128;

std::span<const std::byte> private_data(const rdma_cm_event& event) {
  return {static_cast<const std::byte*>(event.param.conn.private_data), event.param.conn.private_data_len};
}

bool same_endpoint(const Request& one, const Request& other) {
  return one.node == other.node && one.generation == other.generation && one.endpoint == other.endpoint;
}

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::listen(const NodeOptions& node, const CutLives& cut_lives,
                                                   const DeviceContext& device, OwnRegion& own, Bells& bells,
                                                   rdma_cm_id& listener) {
  auto completions = device.make_completion_queue(1);
  if (!completions.ok()) return completions.status();
  std::unique_ptr<Acceptor> acceptor(new Acceptor(node, cut_lives, device, own, bells, std::move(completions).value()));
  listener.context = static_cast<CmTarget*>(acceptor.get());
  if (rdma_listen(&listener, kBacklog) != 0) return cm_error(fmt::format("listen at {}", device.choice().address));
  return acceptor;
}

Acceptor::~Acceptor() {
  for (const std::unique_ptr<Guest>& guest : guests_) rdma_disconnect(&guest->id());
}

void Acceptor::on_event(const rdma_cm_event& event) {
  if (event.event != RDMA_CM_EVENT_CONNECT_REQUEST) return;
  CmId id(event.id);
  const std::optional<Request> request = read_request(private_data(event));
  Refusal refusal = request ? judge(*request, node_) : Refusal::kVersion;
  if (refusal == Refusal::kNone) refusal = admit(*request);
  if (refusal == Refusal::kNone && cut_lives_.contains(request->node, request->generation)) refusal = Refusal::kCutOff;
  if (refusal == Refusal::kNone) refusal = replace_older(*request);
  if (refusal == Refusal::kNone) refusal = accept(id, event.param.conn, *request);
  if (refusal != Refusal::kNone) refuse(std::move(id), refusal, request.value_or(Request{}));
}

void Acceptor::refuse(CmId id, Refusal refusal, const Request& request) {
  Answer no = answer(refusal);
  if (refusal == Refusal::kChallenge) no.token = challenges_.give(request);
  rdma_reject(id.get(), &no, kRefusalBytes);
  refused_.push_back(std::move(id));  // it cannot be destroyed before its event is acknowledged
}

Refusal Acceptor::admit(const Request& request) {
  if (node_.key == ClusterKey{}) return Refusal::kNone;  // the caller sees from the answer that there is no key
  const std::optional<Nonce> challenge = request.proof == Proof{} ? std::optional<Nonce>() : challenges_.take(request);
  if (!challenge) return Refusal::kChallenge;
  return equal(request.proof, proof_of(node_.key, request, *challenge)) ? Refusal::kNone : Refusal::kKey;
}

void Acceptor::clean_up() {
  ended_.clear();
  refused_.clear();
}

Refusal Acceptor::replace_older(const Request& request) {
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    const auto next = std::next(guest);
    if (same_endpoint((*guest)->request, request)) {
      if ((*guest)->request.serial >= request.serial) return Refusal::kTooLate;
      end(**guest);
    }
    guest = next;
  }
  return Refusal::kNone;
}

void Acceptor::cut_off(NodeId node, Generation last) {
  if (base::injected("cut-off-keeps-connections")) return;
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    Guest& one = **guest++;
    if (one.request.node != node || one.request.generation > last) continue;
    rdma_disconnect(&one.id());  // tells that life at once; it would notice only when its next operation fails
    end(one);
  }
}

Refusal Acceptor::accept(CmId& id, const rdma_conn_param& offered, const Request& request) {
  OwnRegion::Word welcome = own_.take();
  if (!welcome) return Refusal::kConnections;
  ibv_qp_init_attr attributes = device_.queue_pair(completions_.get(), 0);
  attributes.recv_cq = bells_.completions();
  attributes.srq = bells_.receive_queue();
  if (rdma_create_qp(id.get(), device_.domain(), &attributes) != 0) return Refusal::kResources;
  Answer yes = answer(Refusal::kNone);
  yes.welcome = welcome.place();
  yes.token = proof_of(node_.key, request, yes);
  rdma_conn_param parameters{};
  parameters.private_data = &yes;
  parameters.private_data_len = sizeof(yes);
  parameters.responder_resources = std::min(offered.responder_resources, device_.choice().reads_in);
  parameters.initiator_depth = 0;
  parameters.rnr_retry_count = 7;
  if (rdma_accept(id.get(), &parameters) != 0) return Refusal::kResources;
  guests_.push_back(std::make_unique<Guest>(*this, std::move(id), request, std::move(welcome)));
  return Refusal::kNone;
}

/// Destroys a guest's queue pair. Some drivers (mlx5) take the messages that a queue pair has received out of the
/// completion queue as they destroy it. Its rings would be lost then, and their places in the shared receive queue
/// would not be filled again. So the pair is first put into the error state, in which it receives no more of them, and
/// the rings are drained.
void Acceptor::destroy_queue_pair(rdma_cm_id& id) {
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(id.qp, &error, IBV_QP_STATE);
  bells_.drain();
  rdma_destroy_qp(&id);
}

void Acceptor::end(const Guest& guest) {
  const auto place = std::find_if(guests_.begin(), guests_.end(), [&](const auto& one) { return one.get() == &guest; });
  if ((*place)->id().qp != nullptr) destroy_queue_pair((*place)->id());
  ended_.splice(ended_.end(), guests_, place);
}

Answer Acceptor::answer(Refusal refusal) const {
  Answer answer{.node = node_.node, .generation = node_.generation, .refusal = refusal, .layout = node_.layout};
  if (refusal == Refusal::kNone) device_.describe_regions(answer);
  return answer;
}

void Acceptor::Guest::on_event(const rdma_cm_event& event) {
  switch (event.event) {
    case RDMA_CM_EVENT_ESTABLISHED: welcome_.value().store(1, std::memory_order_release); break;
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL: host_.end(*this); break;
    default: break;
  }
}

}  // namespace granary::rdma::verbs
