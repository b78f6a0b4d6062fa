#include "rdma/verbs/own_region.h"

#include <algorithm>

namespace granary::rdma::verbs {

Result<std::unique_ptr<OwnRegion>> OwnRegion::map() {
  auto region = memory::Region::map({.reserve_bytes = kWordsFrom + kMostWords * kApart, .huge_pages = HugePages::kOff});
  if (!region.ok()) return region.status();
  return std::unique_ptr<OwnRegion>(new OwnRegion(std::move(region).value()));
}

OwnRegion::Word OwnRegion::take() {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(taken_.begin(), taken_.end(), false);
  if (found == taken_.end()) return {};
  *found = true;
  Word word(*this, static_cast<std::uint16_t>(found - taken_.begin()));
  word.value().store(0, std::memory_order_release);
  return word;
}

void OwnRegion::give_back(std::uint16_t place) {
  const std::lock_guard lock(mutex_);
  taken_[place] = false;
}

}  // namespace granary::rdma::verbs
