#include "rdma/shm/bell.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <ctime>

namespace granary::rdma::shm {

std::uint32_t Bell::rings() const { return std::atomic_ref(*word_).load(std::memory_order_acquire); }

void Bell::ring() const {
  std::atomic_ref(*word_).fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, word_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool Bell::wait(std::uint32_t heard, std::uint64_t timeout_us) const {
  const timespec timeout{static_cast<time_t>(timeout_us / 1'000'000), static_cast<long>(timeout_us % 1'000'000 * 1000)};
  return ::syscall(SYS_futex, word_, FUTEX_WAIT, heard, &timeout, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

Result<std::unique_ptr<OwnBells>> OwnBells::map() {
  auto region = memory::Region::map({.reserve_bytes = kBytes, .huge_pages = HugePages::kOff, .shared = true});
  if (!region.ok()) return region.status();
  return std::unique_ptr<OwnBells>(new OwnBells(std::move(region).value()));
}

Result<OwnBells::Taken> OwnBells::take() {
  const std::lock_guard lock(mutex_);
  const auto free = std::find(taken_.begin(), taken_.end(), false);
  if (free == taken_.end()) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("this node has {} endpoints, the most it may have; close some", kMostBells));
  }
  *free = true;
  return Taken(*this, static_cast<BellId>(free - taken_.begin()));
}

void OwnBells::give_back(BellId id) {
  const std::lock_guard lock(mutex_);
  taken_[id] = false;
}

void OwnBells::ring_all() {
  const std::lock_guard lock(mutex_);
  for (BellId id = 0; id < kMostBells; ++id) {
    if (taken_[id]) Bell(region_->base(), id).ring();
  }
}

}  // namespace granary::rdma::shm
