#include "htm/region.h"

#include <algorithm>

#include "src/base/check.h"

namespace granary::htm {
namespace {

constexpr std::uint64_t kJitterSeed = 0x6a177e2;

/// Only this thread writes it: a plain add in machine code.
void bump(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

std::string_view name(Cause cause) {
  constexpr std::array<std::string_view, kCauses> kNames = {"conflict", "capacity", "explicit", "other"};
  return kNames[static_cast<std::size_t>(cause)];
}

Region::Region(const Support& support, std::uint64_t stream, base::Waiter& waiter, const Policy& policy)
    : rtm_(support.backend() == Backend::kRtm),
      policy_(policy),
      waiter_(waiter),
      random_(kJitterSeed, stream),
      simulator_(support.simulation(), stream) {
  base::always_check(support.backend() != Backend::kOff, "without HTM there are no regions");
}

void Region::count(const Attempt& tried) {
  bump(tried.committed ? counters_.commits : counters_.aborts[static_cast<std::size_t>(tried.cause)]);
}

void Region::count_fallback() { bump(counters_.fallbacks); }

bool Region::worth_retrying(const Attempt& tried, std::array<std::uint32_t, kCauses>& aborts) {
  const auto cause = static_cast<std::size_t>(tried.cause);
  const bool final = tried.cause == Cause::kExplicit && tried.verdict.is_final();
  return !final && aborts[cause]++ < policy_.retries[cause];
}

void Region::back_off(Cause cause, std::uint32_t aborts) {
  if (cause != Cause::kConflict && cause != Cause::kExplicit) return;
  constexpr std::uint32_t kMaxDoublings = 16;
  const std::uint32_t most = std::min(policy_.max_pauses, std::uint32_t{1} << std::min(aborts, kMaxDoublings));
  const auto pauses = static_cast<std::uint32_t>(1 + random_.next() % most);
  for (std::uint32_t turn = 0; turn < pauses; ++turn) waiter_.pause(turn);
}

}  // namespace granary::htm
