#pragma once
// Tells why requests were given up, from the attempts that failed: it counts those that no retry mends, and says what
// they mean for a run.

#include <cstdint>
#include <string>
#include <string_view>

#include <granary/outcome.h>
#include <granary/status.h>

#include "bench/harness/result.h"
#include "bench/harness/workload.h"

namespace granary::bench {

/// Whether nodes die during a run on purpose (--kill, --account). Requests that are given up because of that are part
/// of the measurement.
enum class NodesDie : bool { kNo, kYes };

/// Whether the reason is other nodes, or that this one has lost them.
constexpr bool is_of_other_nodes(AbortReason reason) {
  return reason == AbortReason::kNodeUnreachable || reason == AbortReason::kNodeRecovering ||
         reason == AbortReason::kMembershipLost || reason == AbortReason::kTooMuchUndelivered;
}

/// Whether an attempt that fails for this reason ends its request.
inline bool ends_request(AbortReason reason) {
  return reason != AbortReason::kNone && reason != AbortReason::kUser && !is_retryable(reason);
}

/// Returns why a request with these attempts was given up: the reason that no retry mends, or else the most frequent
/// one; kNone if no attempt failed.
AbortReason reason_of(const AbortCounts& attempts);

/// Returns a reason for messages: "log_entry_too_large: the transaction writes more ...".
std::string explained(AbortReason reason);

/// Returns why a loader cannot go on whose last request was given up. The message ends with a remedy. `attempts` are
/// all that failed while it loaded. `done` says how far it has come, such as " after 5 of 10 keys", or is empty.
/// `size_flag` names the flag to make smaller if memory ran out.
Status load_failure(const AbortCounts& attempts, std::string_view done, std::string_view size_flag);

/// Returns how many requests of the run were given up and why; empty if none was. Where nodes die, requests are left
/// out that were given up because of that.
std::string given_up_text(const Measurement& run, NodesDie nodes_die);

}  // namespace granary::bench
