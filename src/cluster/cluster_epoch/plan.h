#pragma once
// I7: what a leader does next, given what it has READ of the members' control blocks.
//
// The leader advances E when the E of all members, and the e_w of all their open transactions, have arrived in it. So members
// differ by at most 1, and E is nowhere more than 1 ahead of a transaction that is open anywhere.
//
// Each word that a leader changes it changes by compare-and-swap from what it has READ, and only upwards; and once a leader may
// propose a value, that value is right for good: that all have arrived in E does not cease to be so, nor that an epoch is
// durable everywhere or that no snapshot needs it. So a former leader whose operations are late does no harm, and a new
// one finishes what is half done without asking whose it was. Only to admit a node is up to one leader: it does so by its
// configuration, which the node compares with the one that it acts in, and it begins once all members act in that one.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rdma/fabric.h"
#include "src/epoch/control_block.h"

namespace granary::cluster {

/// What was READ of a control block.
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

/// To what the leader raises a member's words: 0 leaves one as it is.
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
  kWaiting,  ///< a member holds E back: it has a transaction open, or does not act in the configuration yet; or E is the last
  kUnreachable,  ///< a member does not answer: E stays as it is
  kSuperseded,   ///< a member acts in a later configuration: this leader is none any more
};

struct Plan {
  Turn turn = Turn::kWaiting;
  std::size_t member = 0;     ///< kWaiting, kSuperseded: because of which
  epoch::Epoch epoch = 0;     ///< the cluster's E, before the turn
  bool hurry = false;         ///< a member that joins is ahead of the others, which have to catch up
  std::vector<Raise> raises;  ///< one for each member; empty: none
};

/// What stays where it is while not all nodes that have data are members.
struct Going {
  bool durable = true;      ///< D; false after a member has died, until its log has been taken over
  bool checkpoints = true;  ///< C; false while any node that has data, and may need the others' logs, is no member
};

Plan plan_turn(epoch::Configuration configuration, std::span<const MemberView> members, const Going& going);

}  // namespace granary::cluster
