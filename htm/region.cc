#include "htm/region.h"

#include "src/base/check.h"

namespace granary::htm {

std::string_view name(Cause cause) {
  constexpr std::array<std::string_view, kCauses> kNames = {"conflict", "capacity", "explicit", "other"};
  return kNames[static_cast<std::size_t>(cause)];
}

Region::Region(const Support& support, std::uint64_t stream, base::Waiter& waiter, const Policy& policy)
    : rtm_(support.backend() == Backend::kRtm),
      policy_(policy),
      back_off_(policy, stream, waiter),
      simulator_(support.simulation(), stream) {
  base::always_check(support.backend() != Backend::kOff, "without HTM there are no regions");
}

bool Region::worth_retrying(const Attempt& tried, std::array<std::uint32_t, kCauses>& aborts) {
  const auto cause = static_cast<std::size_t>(tried.cause);
  const bool final = tried.cause == Cause::kExplicit && tried.verdict.is_final();
  if (!final && aborts[cause]++ < policy_.retries[cause]) return true;
  if (rtm_ && tried.cause == Cause::kOther) pages_.region_was_in_vain();
  return false;
}

}  // namespace granary::htm
