#pragma once
// I7: decides what a leader does next, given what it has READ of the members' control blocks.
//
// The leader advances E when the E of all members, and the e_w of all their open transactions, have arrived in it. So
// members differ by at most 1, and E is nowhere more than 1 ahead of a transaction that is open anywhere.
//
// A former leader does no harm. A leader changes each word by compare-and-swap from the value that it has READ, and
// only upwards. Once a leader may propose a value, that value stays right: all members have arrived in E, an epoch is
// durable everywhere, no snapshot needs it. So operations of a former leader that are late change nothing, and a new
// leader finishes what is half done without asking who began it.
//
// Only admitting a node is up to one leader. It admits by its configuration, which the node compares with the one that
// it acts in, and it begins once all members act in that configuration.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rdma/fabric.h"
#include "src/epoch/control_block.h"

namespace granary::cluster {

/// The words that were READ of a member's control block.
struct MemberView {
  epoch::Epoch epoch = 1;
  epoch::Epoch durable = 0;
  epoch::Epoch snapshot_reclamation = 0;
  epoch::Configuration admitted = 0;
  epoch::Epoch checkpoint = 0;
  struct {
    epoch::Epoch oldest = 0;
    epoch::Epoch durable = 0;
    epoch::Epoch oldest_snapshot = 0;
    epoch::Configuration configuration = 0;
    bool serving = false;
    epoch::Epoch checkpoint = 0;
  } own;  ///< what the node has written
};

MemberView view(const epoch::ControlBlock& block);

/// The values to which the leader raises a member's words. 0 leaves a word as it is.
struct Raise {
  epoch::Epoch epoch = 0;
  epoch::Epoch durable = 0;
  epoch::Epoch snapshot_reclamation = 0;
  epoch::Configuration admitted = 0;
  epoch::Epoch checkpoint = 0;

  bool nothing() const { return (epoch | durable | snapshot_reclamation | admitted | checkpoint) == 0; }
};

enum class Turn : std::uint8_t {
  kAdvanced,  ///< E is one more
  kSettling,  ///< members were brought to the same E, or admitted: there is more to do at once
  /// A member holds E back: it has a transaction open, or acts in an earlier configuration; or E is the last.
  kWaiting,
  kUnreachable,  ///< a member does not answer: E stays as it is
  kSuperseded,   ///< a member acts in a later configuration: this one leads no more
};

struct Plan {
  Turn turn = Turn::kWaiting;
  /// kWaiting, kSuperseded: the member because of which. kAdvanced: the one whose log has the least, so that D is no
  /// more.
  std::size_t member = 0;
  epoch::Epoch epoch = 0;     ///< the cluster's E, before the turn
  bool hurry = false;         ///< a member that joins is ahead of the others, which have to catch up
  std::vector<Raise> raises;  ///< one for each member; empty: none
};

/// Which of the cluster's words may advance. They stay where they are while not all nodes that have data are members.
struct Going {
  bool durable = true;      ///< D; false after a member has died, until its log has been taken over
  bool checkpoints = true;  ///< C; false while any node that has data, and may need the others' logs, does not serve
  bool operator==(const Going&) const = default;
};

Plan plan_turn(epoch::Configuration configuration, std::span<const MemberView> members, const Going& going);

}  // namespace granary::cluster
