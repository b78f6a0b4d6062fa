#include "htm/back_off.h"

#include <algorithm>

namespace granary::htm {
namespace {

constexpr std::uint64_t kJitterSeed = 0x6a177e2;

}  // namespace

BackOff::BackOff(const Policy& policy, std::uint64_t stream, base::Waiter& waiter)
    : max_pauses_(policy.max_pauses),
      waiter_(waiter),
      random_(kJitterSeed, stream) {}

void BackOff::wait_after(Cause cause, std::uint32_t aborts) {
  if (cause != Cause::kConflict && cause != Cause::kExplicit) return;
  constexpr std::uint32_t kMaxDoublings = 16;
  const std::uint32_t most = std::min(max_pauses_, std::uint32_t{1} << std::min(aborts, kMaxDoublings));
  const auto pauses = static_cast<std::uint32_t>(1 + random_.next() % most);
  for (std::uint32_t turn = 0; turn < pauses; ++turn) waiter_.pause(turn);
}

}  // namespace granary::htm
