#pragma once
// Tells workers that meet other nodes' locks which nodes live, and in which life: by one load, without locks.

#include <array>
#include <atomic>

#include "cluster_config/membership/configuration.h"

namespace granary::membership {

/// The living nodes. The node's Membership writes them with each configuration, and workers read them. Each word tells
/// something by itself, so it orders nothing.
class Living {
 public:
  /// Returns the node's present life; 0 if it is no member that lives.
  Generation generation(NodeId id) const {
    return id < kMostMembers ? generations_[id].load(std::memory_order_relaxed) : 0;
  }
  bool lives(NodeId id) const { return generation(id) != 0; }
  /// Whether the node lives and lets others connect.
  bool reached(NodeId id) const { return id < kMostMembers && reached_[id].load(std::memory_order_relaxed); }

  void follow(const Configuration& configuration) {
    for (const Member& member : configuration.members) {
      generations_[member.id].store(member.live() ? member.generation : 0, std::memory_order_relaxed);
      const bool reached = member.live() && member.state != MemberState::kJoining;
      reached_[member.id].store(reached, std::memory_order_relaxed);
    }
  }

 private:
  std::array<std::atomic<Generation>, kMostMembers> generations_{};
  std::array<std::atomic<bool>, kMostMembers> reached_{};
};

}  // namespace granary::membership
