#pragma once
// The configuration: what the members of a cluster agree on. A document that lies at a Board (board.h) and is changed by
// compare-and-set on its version, so of two that change the same version one fails and looks again.
//
// Members are never removed from it: one that left or died stays, so that its next life gets a greater generation.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/status.h>

namespace granary::membership {

using NodeId = std::uint16_t;
/// Counts the lives of a node, from 1.
using Generation = std::uint32_t;

inline constexpr std::size_t kMostMembers = 4096;  ///< as many as a record's state word can name
inline constexpr std::size_t kMostAddressBytes = 256;
inline constexpr std::size_t kMostNoteBytes = 4096;
inline constexpr std::size_t kMostReleaseBytes = 256;

enum class MemberState : std::uint8_t {
  kJoining,  ///< lives, and does not serve yet
  kServing,
  kLeft,  ///< ended in order; it left nothing behind
  kDead,  ///< lost its membership: what it had under way is to be recovered
};
std::string_view name(MemberState state);

struct Member {
  NodeId id = 0;
  Generation generation = 0;
  MemberState state = MemberState::kJoining;
  std::string address;         ///< where peers find it; not interpreted here
  std::string note{};          ///< what it lets the others know in this life; not interpreted here
  std::uint64_t protocol = 0;  ///< all that live have the same
  std::string release{};       ///< of the program that it runs, for messages; empty in entries of old releases

  bool live() const { return state == MemberState::kJoining || state == MemberState::kServing; }
  bool operator==(const Member&) const = default;
};

struct Configuration {
  std::string cluster;            ///< the cluster's name
  std::uint64_t cluster_id = 0;   ///< drawn when the first member ever joined; never 0
  std::uint64_t fingerprint = 0;  ///< of what all members must have alike
  std::uint64_t version = 0;      ///< grows by 1 with each change; the first is 1
  std::vector<Member> members;    ///< in the order of their ids

  /// nullptr if the node never joined.
  const Member* find(NodeId id) const;
  Member* find(NodeId id);
  bool lives(NodeId id) const;
  /// Those of `nodes` that do not live.
  std::vector<NodeId> missing(std::span<const NodeId> nodes) const;
  /// Who advances the cluster's epoch: the lowest id that serves; while nobody does, the lowest that joins; nullptr if
  /// nobody lives.
  const Member* leader() const;
  /// The member, added at its place if need be.
  Member& add(NodeId id);

  bool operator==(const Configuration&) const = default;
};

/// The document; the same for equal configurations.
std::string to_text(const Configuration& configuration);
/// kDamaged if the text, which may be anything, is no configuration.
Result<Configuration> configuration_of(std::string_view text);

}  // namespace granary::membership
