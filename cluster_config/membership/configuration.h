#pragma once
// Holds the configuration, on which the members of a cluster agree. It is a document at a Board (board.h), which is
// changed by compare-and-set on its version. So if two members change the same version, one of them fails and looks
// again.
//
// Members are never removed from it: one that has left or died stays, so that its next life gets a greater generation.
//
// Two numbers count its changes. The document's version grows with each of them. The membership's number grows only
// when a life begins or ends. Everything that has to begin anew then goes by that number: fences, the nodes' epochs,
// and the choice of their leader. So notes, claims and the like, which are frequent during a recovery, abort no
// transaction.
//
// The debts of dead lives are kept apart from the members, since there a node's next life takes the place of its dead
// one.

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
  kReady,    ///< lives, but does not serve yet; the leader of epochs can reach it, and lets it in
  kServing,
  kLeft,  ///< ended in order, and left nothing behind
  kDead,  ///< lost its membership; its transactions under way are to be recovered
};
std::string_view name(MemberState state);

/// The statement of a member once a life has ended or begun, and it has done its part.
struct Quiet {
  /// The number of a membership. The member has cut off all lives that were over in it, and all its own transactions
  /// that began in an earlier membership have ended. 0: it has said nothing yet.
  std::uint64_t number = 0;
  std::uint64_t epoch = 0;  ///< no greater epoch is of these transactions
  bool logged = false;      ///< whether its log has all transactions up to that epoch on the device
  bool operator==(const Quiet&) const = default;
};

struct Member {
  NodeId id = 0;
  Generation generation = 0;
  MemberState state = MemberState::kJoining;
  std::string address;         ///< where peers find it; not interpreted here
  std::string note{};          ///< its message to the others in this life; not interpreted here
  std::uint64_t protocol = 0;  ///< all members that live have the same
  std::string release{};       ///< the release of its program, for messages; empty in entries of old releases
  bool has_data = false;       ///< whether the node has served with a data directory; later lives must find data there
  /// The last life that found data in its directory, or served. An older copy of the data is of an earlier life. Lives
  /// after it found an empty directory, as of a volume that is not mounted, and left the data alone.
  Generation data_life = 0;
  bool recovers = true;  ///< whether it recovers dead nodes whose directories it sees
  Quiet quiet{};

  bool live() const { return state != MemberState::kLeft && state != MemberState::kDead; }
  bool operator==(const Member&) const = default;
};

/// How far the recovery of a dead life has come.
enum class RecoveryPhase : std::uint8_t {
  kWaiting,   ///< until all members are quiet, and one that can open the dead node's directory claims it
  kSettling,  ///< claimed: the life's transactions under way are settled at other nodes
  kAdopting,  ///< the contents of its rings are being put into its log
  kGivenUp,   ///< there is no claim, as its last claimer could not recover the life
};
std::string_view name(RecoveryPhase phase);

/// Names a life of a node.
struct NamedLife {
  NodeId node = 0;
  Generation generation = 0;
  bool operator==(const NamedLife&) const = default;
};

/// A life that ended without having given back what it held. Some member recovers it. Until then the node does not come
/// back, and results of the whole cluster wait.
struct Owed {
  NodeId node = 0;
  Generation generation = 0;
  std::uint64_t number = 0;  ///< the number of the first membership in which it was over
  RecoveryPhase phase = RecoveryPhase::kWaiting;
  /// The life that recovers it; generation 0: there is none. It loses the claim by dying.
  NodeId claimed_by = 0;
  Generation claimed_generation = 0;
  /// Lives that had the claim and gave it up. They try again from time to time, but other members do not count on them
  /// any more. A life stays in this list, whatever it does later, until the life or the debt ends.
  std::vector<NamedLife> declined{};
  bool operator==(const Owed&) const = default;
};

/// Whether others may count on the member to recover the life, if it sees the directory: it serves, recovers others,
/// and has not given up a claim on this life.
bool recovers(const Member& member, const Owed& debt);

struct Configuration {
  std::string cluster;           ///< the cluster's name
  std::uint64_t cluster_id = 0;  ///< chosen at random when the first member ever joined; never 0
  /// The id of the cluster whose nodes go on here with their data, because its own board has been lost; 0: there is
  /// none.
  std::uint64_t former_id = 0;
  std::uint64_t fingerprint = 0;  ///< the fingerprint of everything that all members must have alike
  std::uint64_t version = 0;      ///< grows by 1 with each change; the first is 1
  std::uint64_t number = 0;       ///< the membership's; grows by 1 with each change in which a life begins or ends
  std::optional<NodeId> leads{};  ///< chosen when the number grows
  std::vector<Member> members;    ///< in the order of their ids
  std::vector<Owed> owed{};       ///< in the order in which the lives ended

  /// Returns the member, or nullptr if the node never joined.
  const Member* find(NodeId id) const;
  Member* find(NodeId id);
  bool lives(NodeId id) const;
  /// Returns those of `nodes` that do not live.
  std::vector<NodeId> missing(std::span<const NodeId> nodes) const;
  /// Returns the member that advances the cluster's epoch: the lowest id that served when the number grew, or if none
  /// did, the lowest that lived. Returns nullptr if no member lives.
  const Member* leader() const;
  /// Returns the debt of the life, or of any life of the node; nullptr if there is none.
  const Owed* debt(NodeId node, Generation generation) const;
  Owed* debt(NodeId node, Generation generation);
  bool owes(NodeId node) const;
  /// Whether the life that has claimed the debt still lives.
  bool is_claimed(const Owed& debt) const;
  /// Whether every member that serves is quiet about the lives that were over in the membership of that number.
  bool quiet_since(std::uint64_t ended) const;
  /// Returns the member, which is added at its place if need be.
  Member& add(NodeId id);

  bool operator==(const Configuration&) const = default;
};

/// Completes a change that was made to `before`. It counts the lives that have begun or ended in the change, chooses
/// the leader if there are any, and notes the debts of lives that did not end in order. A life that never served is not
/// noted if another life's entry stands for it. It forgets which claims the ended lives have given up.
void count_lives(const Configuration& before, Configuration& after);

/// Returns the document, which is the same for equal configurations.
std::string to_text(const Configuration& configuration);
/// Reads a configuration. Returns kDamaged if the text, which may be anything, is none.
Result<Configuration> configuration_of(std::string_view text);

}  // namespace granary::membership
