#pragma once
// The configuration: what the members of a cluster agree on. A document that lies at a Board (board.h) and is changed
// by compare-and-set on its version, so of two that change the same version one fails and looks again.
//
// Members are never removed from it: one that left or died stays, so that its next life gets a greater generation.
//
// Two numbers count its changes. The document's version grows with each of them. The membership's number grows only
// when a life begins or ends, and all that has to begin anew then goes by it: fences, the nodes' epochs, and who leads
// them. So notes, claims and the like, which are frequent during a recovery, abort no transaction.
//
// What a dead life owes is kept apart from the members, since the node's next life takes the place of the dead one
// there.

#include <cstdint>
#include <optional>
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
  kReady,    ///< the same; it has its data, and can be reached by the leader of epochs, who lets it in
  kServing,
  kLeft,  ///< ended in order; it left nothing behind
  kDead,  ///< lost its membership: what it had under way is to be recovered
};
std::string_view name(MemberState state);

/// What a member says when a life has ended or begun, and it has done its part.
struct Quiet {
  /// It has cut off all lives that were over in the membership of this number, and of its own transactions all have
  /// ended that began in an earlier one. 0: it has said nothing yet.
  std::uint64_t number = 0;
  std::uint64_t epoch = 0;  ///< these transactions' epochs are not greater
  bool logged = false;      ///< its log has all transactions up to that epoch on the device
  bool operator==(const Quiet&) const = default;
};

struct Member {
  NodeId id = 0;
  Generation generation = 0;
  MemberState state = MemberState::kJoining;
  std::string address;         ///< where peers find it; not interpreted here
  std::string note{};          ///< what it lets the others know in this life; not interpreted here
  std::uint64_t protocol = 0;  ///< all that live have the same
  std::string release{};       ///< of the program that it runs, for messages; empty in entries of old releases
  bool has_data = false;       ///< the node has served with a data directory; later lives are to find data there, too
  /// The last life that found data in its directory, or served; an older copy of the data is of a life before it. Lives
  /// in between found an empty directory, as of a volume that is not mounted, and left the data alone.
  Generation data_life = 0;
  bool recovers = true;  ///< it recovers dead nodes whose directories it sees
  Quiet quiet{};

  bool live() const { return state != MemberState::kLeft && state != MemberState::kDead; }
  bool operator==(const Member&) const = default;
};

/// How far the recovery of a dead life has come.
enum class RecoveryPhase : std::uint8_t {
  kWaiting,   ///< for all members to be quiet, and for one that can open the dead node's directory
  kSettling,  ///< claimed: what the life had under way at other nodes is written there and freed
  kAdopting,  ///< what its rings have is being put into its log
  kGivenUp,   ///< nobody has the claim, since whoever had it could not recover the life
};
std::string_view name(RecoveryPhase phase);

/// A life of a node, by name.
struct NamedLife {
  NodeId node = 0;
  Generation generation = 0;
  bool operator==(const NamedLife&) const = default;
};

/// A life that ended without having given back what it held. Somebody recovers it; until then the node does not come
/// back, and results of the whole cluster wait.
struct Owed {
  NodeId node = 0;
  Generation generation = 0;
  std::uint64_t number = 0;  ///< of the membership in which it was over
  RecoveryPhase phase = RecoveryPhase::kWaiting;
  /// The life that recovers it; generation 0: nobody's. It loses the claim by dying.
  NodeId claimed_by = 0;
  Generation claimed_generation = 0;
  /// Lives that had the claim and gave it up. They try again from time to time, but nobody counts on them any more: a
  /// life stays in this list, whatever it does later, until it ends or the debt does.
  std::vector<NamedLife> declined{};
  bool operator==(const Owed&) const = default;
};

/// Whether others may count on the member to recover the life, if it sees the directory: it serves, recovers others,
/// and has not given up a claim on this life.
bool recovers(const Member& member, const Owed& debt);

struct Configuration {
  std::string cluster;           ///< the cluster's name
  std::uint64_t cluster_id = 0;  ///< drawn when the first member ever joined; never 0
  /// Of the cluster whose nodes go on here with their data, as its own board has been lost; 0: none.
  std::uint64_t former_id = 0;
  std::uint64_t fingerprint = 0;  ///< of what all members must have alike
  std::uint64_t version = 0;      ///< grows by 1 with each change; the first is 1
  std::uint64_t number = 0;       ///< of the membership: grows by 1 with each change in which a life begins or ends
  std::optional<NodeId> leads{};  ///< chosen when the number grows
  std::vector<Member> members;    ///< in the order of their ids
  std::vector<Owed> owed{};       ///< in the order in which the lives ended

  /// Nullptr if the node never joined.
  const Member* find(NodeId id) const;
  Member* find(NodeId id);
  bool lives(NodeId id) const;
  /// Those of `nodes` that do not live.
  std::vector<NodeId> missing(std::span<const NodeId> nodes) const;
  /// Who advances the cluster's epoch: the lowest id that served when the number grew; if nobody did, the lowest that
  /// lived; nullptr if nobody does.
  const Member* leader() const;
  /// What the life, or any life of the node, still owes; nullptr if nothing.
  const Owed* debt(NodeId node, Generation generation) const;
  Owed* debt(NodeId node, Generation generation);
  bool owes(NodeId node) const;
  /// Whether the life that has claimed the debt lives on.
  bool is_claimed(const Owed& debt) const;
  /// Whether every member that serves is quiet about the lives that were over in the membership of that number.
  bool quiet_since(std::uint64_t ended) const;
  /// The member, added at its place if need be.
  Member& add(NodeId id);

  bool operator==(const Configuration&) const = default;
};

/// Completes a change that was made to `before`: counts lives that have begun or ended in it, chooses the leader if
/// there are any, and notes what lives owe that did not end in order. A life that never served is not noted if another
/// one's entry stands for it. Forgets which claims the ended lives have given up.
void count_lives(const Configuration& before, Configuration& after);

/// The document; the same for equal configurations.
std::string to_text(const Configuration& configuration);
/// kDamaged if the text, which may be anything, is no configuration.
Result<Configuration> configuration_of(std::string_view text);

}  // namespace granary::membership
