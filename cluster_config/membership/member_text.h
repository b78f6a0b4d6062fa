#pragma once
// Small questions about members and marks that several parts of a membership ask.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cluster_config/membership/board.h"
#include "cluster_config/membership/configuration.h"

namespace granary::membership {

inline bool has(const Marks& marks, NodeId id) { return std::ranges::find(marks.nodes, id) != marks.nodes.end(); }

/// For messages: "node 1 (127.0.0.1:7001)".
inline std::string who(const Member& member) {
  return member.address.empty() ? fmt::format("node {}", member.id)
                                : fmt::format("node {} ({})", member.id, member.address);
}

}  // namespace granary::membership
