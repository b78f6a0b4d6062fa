#include "rdma/verbs/bells.h"

#include <arpa/inet.h>

#include <algorithm>

#include <fmt/format.h>

namespace granary::rdma::verbs {

Result<std::unique_ptr<Bells>> Bells::open(const DeviceContext& device) {
  std::unique_ptr<Bells> bells(new Bells);
  bells->channel_.reset(ibv_create_comp_channel(device.verbs()));
  if (bells->channel_ == nullptr) return cm_error("make a completion channel");
  ibv_device_attr limits{};
  if (ibv_query_device(device.verbs(), &limits) != 0) return cm_error("ask the device for its limits");
  const int kept = std::min({kMostKept, limits.max_srq_wr, limits.max_cqe});
  if (limits.max_srq == 0 || kept == 0) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("{} has no shared receive queues (max_srq in ibv_devinfo -v), by which peers wake this "
                              "node's workers; choose another device",
                              device.choice().device));
  }
  auto completions = device.make_completion_queue(static_cast<std::uint32_t>(kept), bells->channel_.get());
  if (!completions.ok()) return completions.status();
  bells->completions_ = std::move(completions).value();
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = static_cast<std::uint32_t>(kept);
  attributes.attr.max_sge = 1;
  bells->received_.reset(ibv_create_srq(device.domain(), &attributes));
  if (bells->received_ == nullptr) return cm_error(fmt::format("make a shared receive queue of {} places", kept));
  for (int i = 0; i < kept; ++i) {
    if (Status status = bells->await_one(); !status.ok()) return status;
  }
  if (ibv_req_notify_cq(bells->completions(), 0) != 0) return cm_error("be notified of rings");
  return bells;
}

Status Bells::await_one() {
  ibv_recv_wr empty{};
  ibv_recv_wr* refused = nullptr;
  return ibv_post_srq_recv(received_.get(), &empty, &refused) == 0 ? Status() : cm_error("await a ring");
}

void Bells::add(BellId bell, const Alarm& alarm) {
  const std::lock_guard lock(mutex_);
  alarms_[bell] = &alarm;
}

void Bells::remove(BellId bell) {
  const std::lock_guard lock(mutex_);
  alarms_.erase(bell);
}

/// Takes rings after a notice. The queue is armed again before it is emptied, so a ring that comes in between is in the
/// queue, or makes the next event.
void Bells::answer() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_.get(), &queue, &context) != 0) return;
  ibv_ack_cq_events(queue, 1);
  ibv_req_notify_cq(queue, 0);
  drain();
}

void Bells::drain() {
  ibv_wc arrived;
  while (ibv_poll_cq(completions_.get(), 1, &arrived) > 0) {
    if (arrived.status == IBV_WC_SUCCESS && (arrived.wc_flags & IBV_WC_WITH_IMM) != 0) ring(ntohl(arrived.imm_data));
    (void)await_one();
  }
}

void Bells::ring(BellId bell) {
  const std::lock_guard lock(mutex_);
  if (const auto found = alarms_.find(bell); found != alarms_.end()) found->second->raise();
}

}  // namespace granary::rdma::verbs
