#include "bench/harness/given_up.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/harness/progress.h"

namespace granary::bench {

namespace {

std::uint64_t count_of(const AbortCounts& attempts, AbortReason reason) {
  return attempts[static_cast<std::size_t>(reason)];
}

template <typename Wanted>
std::uint64_t sum_of(const AbortCounts& attempts, Wanted&& wanted) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (wanted(static_cast<AbortReason>(i))) sum += attempts[i];
  }
  return sum;
}

/// Returns how many requests were given up although a retry mends each of their attempts, after very many of those, or
/// without one (snapshots). Where nodes die, these cannot be told apart from requests that were given up because of
/// that.
std::uint64_t given_up_in_vain(const TypeResult& total, NodesDie nodes_die) {
  if (nodes_die == NodesDie::kYes && sum_of(total.aborts, is_of_other_nodes) != 0) return 0;
  const std::uint64_t explained = total.too_long + sum_of(total.aborts, ends_request);
  return total.gave_up - std::min(total.gave_up, explained);
}

}  // namespace

AbortReason reason_of(const AbortCounts& attempts) {
  AbortReason most = AbortReason::kNone;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const auto reason = static_cast<AbortReason>(i);
    if (attempts[i] != 0 && ends_request(reason)) return reason;
    if (attempts[i] > count_of(attempts, most)) most = reason;
  }
  return most;
}

std::string explained(AbortReason reason) { return fmt::format("{}: {}", name(reason), meaning(reason)); }

Status load_failure(const AbortCounts& attempts, std::string_view done, std::string_view size_flag) {
  const AbortReason reason = reason_of(attempts);
  if (reason == AbortReason::kOutOfMemory) {
    return {StatusCode::kResourceExhausted,
            fmt::format("memory ran out while loading{}; use fewer {}, or {}", done, size_flag, kMoreMemory)};
  }
  return {reason == AbortReason::kMembershipLost ? StatusCode::kMembershipLost : StatusCode::kUnavailable,
          fmt::format("loading was given up{} ({})", done, explained(reason))};
}

std::string given_up_text(const Measurement& run, NodesDie nodes_die) {
  const TypeResult total = run.total();
  for (std::size_t i = 0; i < total.aborts.size(); ++i) {
    const auto reason = static_cast<AbortReason>(i);
    if (total.aborts[i] == 0 || !ends_request(reason)) continue;
    if (nodes_die == NodesDie::kYes && is_of_other_nodes(reason)) continue;
    return fmt::format("{} requests were given up ({})", with_commas(total.aborts[i]), explained(reason));
  }
  const std::uint64_t rest = given_up_in_vain(total, nodes_die);
  if (rest == 0) return {};
  const AbortReason most = reason_of(total.aborts);
  return fmt::format("{} requests were given up; {}", with_commas(rest),
                     most == AbortReason::kNone ? "no attempt has told a reason"
                                                : fmt::format("most attempts failed by {}", explained(most)));
}

}  // namespace granary::bench
