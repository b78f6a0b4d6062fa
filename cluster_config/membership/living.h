#pragma once
// Which nodes live, and in which life, for workers that meet what others hold: one load, without locks.

#include <array>
#include <atomic>

#include "cluster_config/membership/configuration.h"

namespace granary::membership {

/// Written by the node's Membership with each configuration, read by workers. Each word tells something by itself, so
/// nothing is ordered by it.
class Living {
 public:
  /// Of the node's present life; 0 if it is no member that lives.
  Generation generation(NodeId id) const {
    return id < kMostMembers ? generations_[id].load(std::memory_order_relaxed) : 0;
  }
  bool lives(NodeId id) const { return generation(id) != 0; }
  /// Whether it lives and lets others connect.
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
