#include "rdma/verbs/connection.h"

#include <arpa/inet.h>

#include <cstring>

#include <fmt/format.h>

#include "rdma/verbs/work_request.h"

namespace granary::rdma::verbs {

Status Connection::open(CmId cm, const Answer& answer) {
  cm_ = std::move(cm);
  regions_ = PeerRegions(peer, answer.generation);
  for (std::size_t i = 0; i < answer.region_count; ++i) {
    const RegionEntry& region = answer.regions[i];
    regions_.add(region.id, region.bytes);
    keys_.push_back({region.base, region.key});
  }
  return open_.add(*this) ? Status() : CutLives::answered(peer, answer.generation);
}

void Connection::post(const DeviceContext& device, std::span<const Operation> chain, Signal signal, std::uint64_t tag) {
  if (requests_.empty()) {
    requests_.resize(device.limits().chain_length);
    pieces_.resize(device.limits().chain_length);
  }
  const bool signalled = queue.push(chain.size(), signal, tag);
  const std::uint64_t number = std::uint64_t{id & 0xffff} << SendQueue::kPositionBits | queue.posted();
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Operation& operation = chain[i];
    const Key& region = keys_[static_cast<std::size_t>(regions_.find(operation.remote.region))];
    pieces_[i] = {.addr = reinterpret_cast<std::uint64_t>(operation.local),
                  .length = operation.bytes,
                  .lkey = device.local_key(device.regions().find(operation.local, operation.bytes))};
    ibv_send_wr& request = requests_[i];
    request = {};
    request.wr_id = number;
    request.next = i + 1 < chain.size() ? &requests_[i + 1] : nullptr;
    request.sg_list = &pieces_[i];
    request.num_sge = 1;
    translate(operation, region.base + operation.remote.offset, region.key, device.limits().inline_bytes, request);
  }
  if (signalled) requests_[chain.size() - 1].send_flags |= IBV_SEND_SIGNALED;
  submit(requests_.front());
}

void Connection::ring(BellId bell) {
  const bool signalled = queue.push(1, Signal::kNo, 0);
  ibv_send_wr request{};
  request.wr_id = std::uint64_t{id & 0xffff} << SendQueue::kPositionBits | queue.posted();
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = htonl(bell);
  if (signalled) request.send_flags |= IBV_SEND_SIGNALED;
  submit(request);
}

void Connection::submit(ibv_send_wr& first) {
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(cm_->qp, &first, &refused);
  if (error != 0) {
    fail(fmt::format("the device does not take operations ({}): see the kernel log, then connect again",
                     std::strerror(error)));
    alarms_.fetch_add(1, std::memory_order_release);
  }
}

void Connection::close() {
  if (cm_ == nullptr) return;
  open_.remove(*this);
  rdma_disconnect(cm_.get());
  rdma_destroy_qp(cm_.get());
  cm_.reset();
}

void Connection::on_event(const rdma_cm_event& event) {
  if (event.event != RDMA_CM_EVENT_DISCONNECTED && event.event != RDMA_CM_EVENT_DEVICE_REMOVAL) return;
  sever(Severed::kEnded);
}

/// Puts the queue pair into the error state, in which it sends nothing any more. Its operations come out as flushed.
void Connection::cut_off() {
  sever(Severed::kCutOff);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(cm_->qp, &error, IBV_QP_STATE);
}

void Connection::sever(Severed how) {
  Severed before = Severed::kNot;
  severed_.compare_exchange_strong(before, how, std::memory_order_release, std::memory_order_relaxed);
  alarms_.fetch_add(1, std::memory_order_release);
  alarm_.raise();
}

void Connection::fail(std::string why) {
  if (!broken()) cause_ = std::move(why);
}

Status Connection::status() const {
  if (!broken()) return {};
  const char* ended = severed_.load(std::memory_order_acquire) == Severed::kCutOff
                          ? "this life of the peer is cut off here; connect again when the next one is there"
                          : "the peer has ended or was cut off; connect again when it is back";
  return Status(StatusCode::kUnavailable, fmt::format("the connection to node {} at {} is broken: {}", peer, place,
                                                      cause_.empty() ? ended : cause_));
}

}  // namespace granary::rdma::verbs
