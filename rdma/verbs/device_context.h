#pragma once
// Owns the things that the queue pairs of a fabric share: the device as rdma_cm opened it, the protection domain, and
// the memory regions.

#include <infiniband/verbs.h>

#include <memory>
#include <vector>

#include "rdma/region_table.h"
#include "rdma/verbs/cm_events.h"
#include "rdma/verbs/device.h"
#include "rdma/verbs/hello.h"

namespace granary::rdma::verbs {

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using ProtectionDomain = std::unique_ptr<ibv_pd, Free<ibv_dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv_mr, Free<ibv_dereg_mr>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, Free<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Free<ibv_destroy_cq>>;

class DeviceContext {
 public:
  /// Opens the device. `id` is bound to the choice's address and must outlive the context.
  static Result<std::unique_ptr<DeviceContext>> open(const DeviceChoice& choice, const rdma_cm_id& id);

  const DeviceChoice& choice() const { return choice_; }
  ibv_context* verbs() const { return verbs_; }
  ibv_pd* domain() const { return domain_.get(); }
  const Limits& limits() const { return limits_; }

  /// Makes a completion queue. If there is a `channel`, the queue notifies it when asked to.
  Result<CompletionQueue> make_completion_queue(std::uint32_t places, ibv_comp_channel* channel = nullptr) const;
  /// Returns the attributes of a queue pair for so many `operations` outstanding. With none, it only serves a peer.
  ibv_qp_init_attr queue_pair(ibv_cq* completions, std::uint32_t operations) const;

  /// Pins and registers a region, never with relaxed ordering (I5).
  Status add_region(const RegionSpec& spec, memory::Region& region);
  const LocalRegions& regions() const { return regions_; }
  /// Returns the key of the region at this position of regions().
  std::uint32_t local_key(int place) const { return keys_[static_cast<std::size_t>(place)]->lkey; }
  /// Adds the regions that peers may reach to an answer.
  void describe_regions(Answer& answer) const;

 private:
  DeviceContext(const DeviceChoice& choice, ibv_context* verbs) : choice_(choice), verbs_(verbs) {}
  Status find_limits();

  const DeviceChoice choice_;
  ibv_context* const verbs_;
  ProtectionDomain domain_;
  Limits limits_;
  LocalRegions regions_;
  std::vector<MemoryRegion> keys_;
  std::uint64_t registered_ = 0;  ///< the bytes of all regions
};

}  // namespace granary::rdma::verbs
