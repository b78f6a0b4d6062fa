#pragma once
// Why requests were given up, by the attempts that failed: counts that no retry mends, and what they mean for a run.

#include <cstdint>
#include <string>
#include <string_view>

#include <granary/outcome.h>
#include <granary/status.h>

#include "bench/harness/result.h"
#include "bench/harness/workload.h"

namespace granary::bench {

/// Whether nodes die during a run on purpose (--kill, --account). Requests that are given up because of that are part
/// of what such a run measures.
enum class NodesDie : bool { kNo, kYes };

/// Whether other nodes are the reason, or that this one has lost them.
constexpr bool is_of_other_nodes(AbortReason reason) {
  return reason == AbortReason::kNodeUnreachable || reason == AbortReason::kNodeRecovering ||
         reason == AbortReason::kMembershipLost || reason == AbortReason::kTooMuchUndelivered;
}

/// Whether an attempt that fails for this reason ends its request.
inline bool ends_request(AbortReason reason) {
  return reason != AbortReason::kNone && reason != AbortReason::kUser && !is_retryable(reason);
}

/// Why a request was given up whose attempts these are: the reason that no retry mends, or else the most frequent one.
/// kNone: no attempt failed.
AbortReason reason_of(const AbortCounts& attempts);

/// "log_entry_too_large: the transaction writes more ...", for messages.
std::string explained(AbortReason reason);

/// Tells why a loader cannot go on whose last request was given up, in a message that ends with what helps. `attempts`:
/// all that failed while it loaded. `done`: how far it has come, such as " after 5 of 10 keys", or empty. `size_flag`:
/// what to make less of if memory ran out.
Status load_failure(const AbortCounts& attempts, std::string_view done, std::string_view size_flag);

/// Tells, if requests of the run were given up, how many and why; else empty. Where nodes die, requests are left out
/// that were given up because of that.
std::string given_up_text(const Measurement& run, NodesDie nodes_die);

}  // namespace granary::bench
