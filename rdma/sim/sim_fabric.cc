#include "rdma/sim/sim_fabric.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "rdma/sim/endpoint.h"
#include "src/base/shared_words.h"

namespace granary::rdma::sim {
namespace {

/// Fills memory after its node crashed. It cannot be taken for data.
constexpr std::uint64_t kDestroyed = 0xdbdbdbdbdbdbdbdbu;

/// Destroys memory. Pages that were never touched are left alone: they hold nothing, and most of a region is such
/// pages. No other thread stores or loads here, as a simulated network has one thread and the node's fibers are gone.
void destroy(char* base, std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 4096;
  std::vector<unsigned char> resident((bytes + kPage - 1) / kPage);
  if (::mincore(base, bytes, resident.data()) != 0) std::fill(resident.begin(), resident.end(), 1);
  for (std::uint64_t at = 0; at < bytes; at += kPage) {
    if ((resident[at / kPage] & 1) == 0) continue;
    std::fill_n(reinterpret_cast<std::uint64_t*>(base + at), std::min(kPage, bytes - at) / base::kWord, kDestroyed);
  }
}

}  // namespace

Status SimFabric::register_region(const RegionSpec& spec, memory::Region& region) {
  if (listening_) return Status(StatusCode::kFailedPrecondition, "regions are registered before listen()");
  if (spec.id == kOwnRegion) {
    return Status(StatusCode::kAlreadyExists, fmt::format("region {} is the fabric's own; take another id", spec.id));
  }
  return regions_.add(spec, region);
}

Status SimFabric::listen() {
  listening_ = true;
  return {};
}

Result<std::unique_ptr<Endpoint>> SimFabric::open_endpoint() {
  if (!listening_) return Status(StatusCode::kFailedPrecondition, "endpoints are opened after listen()");
  auto endpoint = std::make_unique<SimEndpoint>(*this, ++bells_);
  endpoints_.push_back(endpoint.get());
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

Status SimFabric::cut_off(NodeId node, Generation last) {
  if (Status status = cut_lives_.add(node_, node, last); !status.ok()) return status;
  network_.cut_off(node, last, node_.node);
  return {};
}

char* SimFabric::base(RegionId region) const {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if (regions_[i].spec.id == region) return regions_[i].base;
  }
  return nullptr;
}

void SimFabric::ring(BellId bell) {
  for (SimEndpoint* endpoint : endpoints_) {
    if (endpoint->bell() == bell) endpoint->hear_ring();
  }
}

void SimFabric::crash() {
  crashed_ = true;
  for (SimEndpoint* endpoint : endpoints_) endpoint->crash();
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if (!regions_[i].spec.reliable) destroy(regions_[i].base, regions_[i].bytes);
  }
  network_.forget(this);
}

}  // namespace granary::rdma::sim
