#pragma once
// Answers small questions about members and marks that several parts of a membership ask, and has words for messages
// about them.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include <granary/status.h>

#include "cluster_config/membership/board.h"
#include "cluster_config/membership/configuration.h"

namespace granary::membership {

inline bool has(const Marks& marks, NodeId id) { return std::ranges::find(marks.nodes, id) != marks.nodes.end(); }

inline Status refuse(std::string message) { return Status(StatusCode::kFailedPrecondition, std::move(message)); }

/// Returns, for messages, "node 1 (127.0.0.1:7001)".
inline std::string who(const Member& member) {
  return member.address.empty() ? fmt::format("node {}", member.id)
                                : fmt::format("node {} ({})", member.id, member.address);
}

/// Returns, for messages, "life 2 of node 1".
inline std::string life_text(NodeId node, Generation generation) {
  return fmt::format("life {} of node {}", generation, node);
}

/// Returns the end of a sentence that says what keeps others waiting: "life 2 of node 1 ended without giving back what
/// it held, and ...".
inline std::string debt_text(const Owed& debt) {
  const std::string life = life_text(debt.node, debt.generation);
  if (debt.claimed_generation == 0)
    return fmt::format("{} ended without giving back what it held, and nobody has begun to recover it", life);
  return fmt::format("{} ended without giving back what it held, and node {} is recovering it ({})", life,
                     debt.claimed_by, name(debt.phase));
}

}  // namespace granary::membership
