#pragma once
// Says whether a transaction has the right to commit on its node (I11). The order of a commit (commit.h) asks for it.

#include <cstdint>

#include <granary/outcome.h>

#include "cluster_config/membership/fence.h"

namespace granary::cc {

/// Returns why a transaction that has noted this number of the membership may not commit now; kNone if it may.
inline AbortReason fenced(const membership::Fence& fence, std::uint64_t noted) {
  if (fence.open(noted)) [[likely]]
    return AbortReason::kNone;
  const std::uint64_t now = fence.number();
  return now != membership::Fence::kClosed && now != noted ? AbortReason::kConfigurationChanged
                                                           : AbortReason::kMembershipLost;
}

/// A transaction's right to commit on a node of a cluster (I11): the node's fence must be open at the number of the
/// membership that the transaction noted when it began.
struct CommitRight {
  const membership::Fence* fence = nullptr;  ///< nullptr: there is no cluster
  std::uint64_t noted = 0;                   ///< the number of the membership

  /// Returns why the transaction may not commit now; kNone if it may. A commit asks after its last wait, so that only a
  /// stop of the process can come between the answer and the decision. The pauses between the attempts of an HTM region
  /// count as such a stop: they are bounded, and much shorter.
  AbortReason refused() const { return fence == nullptr ? AbortReason::kNone : fenced(*fence, noted); }
};

/// The right of a transaction in a database that is no node of a cluster. The compiler knows the answer, so it costs
/// nothing.
struct EveryRight {
  static constexpr AbortReason refused() { return AbortReason::kNone; }
  operator CommitRight() const { return {}; }
};

}  // namespace granary::cc
