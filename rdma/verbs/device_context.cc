#include "rdma/verbs/device_context.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "rdma/verbs/advice.h"

namespace granary::rdma::verbs {
namespace {

std::uint64_t lock_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur;
}

}  // namespace

Result<std::unique_ptr<DeviceContext>> DeviceContext::open(const DeviceChoice& choice, const rdma_cm_id& id) {
  std::unique_ptr<DeviceContext> context(new DeviceContext(choice, id.verbs));
  if (id.verbs == nullptr || ibv_get_device_name(id.verbs->device) != choice.device) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("rdma_cm does not reach {} by the address {}; give another address or device",
                              choice.device, choice.address));
  }
  context->domain_.reset(ibv_alloc_pd(id.verbs));
  if (context->domain_ == nullptr) return cm_error(fmt::format("get a protection domain of {}", choice.device));
  if (Status status = context->find_limits(); !status.ok()) return status;
  return context;
}

// Finds how much a queue pair takes inline by trying it, as no device tells it.
Status DeviceContext::find_limits() {
  auto completions = make_completion_queue(choice_.outstanding);
  if (!completions.ok()) return completions.status();
  for (const std::uint32_t inline_bytes : {256u, 128u, 64u, 32u, 0u}) {
    limits_ = {.outstanding = choice_.outstanding,
               .chain_length = choice_.outstanding / 2,
               .inline_bytes = inline_bytes,
               .operation_bytes = choice_.operation_bytes};
    ibv_qp_init_attr attributes = queue_pair(completions->get(), choice_.outstanding);
    if (ibv_qp* pair = ibv_create_qp(domain_.get(), &attributes); pair != nullptr) {
      ibv_destroy_qp(pair);
      return {};
    }
  }
  return cm_error(
      fmt::format("make a queue pair of {} with {} operations outstanding", choice_.device, choice_.outstanding));
}

Result<CompletionQueue> DeviceContext::make_completion_queue(std::uint32_t places, ibv_comp_channel* channel) const {
  CompletionQueue queue(ibv_create_cq(verbs_, static_cast<int>(places), nullptr, channel, 0));
  if (queue == nullptr)
    return cm_error(fmt::format("make a completion queue of {} with {} places", choice_.device, places));
  return queue;
}

ibv_qp_init_attr DeviceContext::queue_pair(ibv_cq* completions, std::uint32_t operations) const {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = completions;
  attributes.recv_cq = completions;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap.max_send_wr = std::max(operations, 1u);
  attributes.cap.max_recv_wr = 1;
  attributes.cap.max_send_sge = 1;
  attributes.cap.max_recv_sge = 1;
  attributes.cap.max_inline_data = operations == 0 ? 0 : limits_.inline_bytes;
  return attributes;
}

Status DeviceContext::add_region(const RegionSpec& spec, memory::Region& region) {
  if (spec.access == Access::kRemote) {
    std::size_t reached = 1;
    for (std::size_t i = 0; i < regions_.size(); ++i) reached += regions_[i].spec.access == Access::kRemote;
    if (reached > kMostRegions) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("region {} is one too many: peers can reach at most {}, one of them the fabric's own",
                                spec.id, kMostRegions));
    }
  }
  if (region.size() > choice_.region_bytes) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("region {} has {} bytes; {} registers at most {}", spec.id, region.size(), choice_.device,
                              choice_.region_bytes));
  }
  const int remote = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  const int access = IBV_ACCESS_LOCAL_WRITE | (spec.access == Access::kRemote ? remote : 0);
  MemoryRegion key(ibv_reg_mr(domain_.get(), region.base(), region.size(), access));
  if (key == nullptr) return registration_error(errno, region.size(), registered_, lock_limit());
  if (Status status = regions_.add(spec, region); !status.ok()) return status;
  keys_.push_back(std::move(key));
  registered_ += region.size();
  return {};
}

void DeviceContext::describe_regions(Answer& answer) const {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const LocalRegions::Entry& region = regions_[i];
    if (region.spec.access != Access::kRemote) continue;
    answer.regions[answer.region_count++] = {.base = reinterpret_cast<std::uint64_t>(region.base),
                                             .bytes = region.bytes,
                                             .key = keys_[i]->rkey,
                                             .id = region.spec.id};
  }
}

}  // namespace granary::rdma::verbs
