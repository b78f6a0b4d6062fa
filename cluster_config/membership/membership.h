#pragma once
// A node's membership in its cluster: it joins, follows the configuration, and leaves or is lost. What is special to
// the kind (`local`, `zookeeper`) is the Board's; the rules are here:
//
// - Who joins makes its mark first and enters the configuration then; so a member that lives by the configuration and
//   has no mark has died, if the configuration was read before the marks. Whoever has missed it for as long as its
//   fence may be open (Board::fence_lasts_us()) says so in the configuration.
// - What a life owes that did not end in order stays in the configuration (Configuration::owed) until somebody has
//   recovered it, or until a later life of the node serves after all nodes have started together. A life that joined
//   and left again meanwhile has taken nothing over; so it counts as dead, too. One that only visited is not meant to.
//   Lives that begin and end while nobody serves add nothing to what their node owes already (count_lives).
// - A member that finds its mark gone, or itself dead in the configuration, or another cluster's configuration in the
//   place of its own, has lost its membership for good: its process ends (exit code 6).
// - An older life of a node is dead once a later one is in the configuration, whether or not anybody saw it die.
//
// Threads: step() is for one thread (MembershipThread, or a simulation's); everything else is thread-safe.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <granary/status.h>

#include "cluster_config/membership/board.h"
#include "cluster_config/membership/board_silence.h"
#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/configuration_document.h"
#include "cluster_config/membership/fence.h"
#include "cluster_config/membership/life.h"
#include "cluster_config/membership/living.h"
#include "cluster_config/membership/missing_marks.h"
#include "cluster_config/membership/patient_board.h"

namespace granary::membership {

struct MembershipOptions {
  NodeId node = 0;
  std::string cluster;  ///< the name; all members have the same
  /// Of what all members must have alike (the cluster file). All live members have the same.
  std::uint64_t fingerprint = 0;
  /// All of the cluster's. What others owe is forgotten when this node serves. Empty: any may be one.
  std::vector<NodeId> nodes = {};
  std::string address;         ///< where peers find this node; at most kMostAddressBytes
  std::uint64_t protocol = 0;  ///< what nodes do with each other's memory and messages; all live members have the same
  std::string release = {};    ///< of this program, for who is refused; at most kMostReleaseBytes
  /// The cluster's id as this node knows it from its data; 0: it knows none. Joining another cluster is refused, and
  /// joining a board without a configuration, which has been wiped.
  std::uint64_t known_cluster_id = 0;
  /// This node goes on with its data also at a board that has lost the configuration of its cluster. All nodes with
  /// data of that cluster are told so, and start together.
  bool accepts_new_board = false;
  Generation lowest_generation = 1;  ///< greater than that of any life of which this node's data tells

  /// The life that the node's data are of; 0: it has none. Joining is refused if a later life has had data since
  /// (Member::data_life), as these are an older copy then, without what that life has committed.
  Generation data_generation = 0;
  std::string data_place = {};  ///< the node's data directory; empty: it has none
  /// The directory has data in it. To come back to others that serve is refused if it has none and the node has served
  /// with data before (Member::has_data): a volume may not be mounted.
  bool finds_data = false;
  bool accepts_older_data = false;  ///< refuses neither
  /// Makes the node's data remember that they are of this life, before anybody else learns of it: so data of a life
  /// before the last one are an older copy. An error ends join().
  std::function<Status(Generation)> note_life = [](Generation) { return Status(); };

  /// Sets these from what the node's data remembers.
  void remember(const Life& life) {
    known_cluster_id = life.cluster_id;
    lowest_generation = life.generation + 1;
    data_generation = life.generation;
  }

  /// Nobody joins while others serve already, unless `rejoins`: all begin together. Those that seem to are waited for
  /// so long, or as marks may outlive their process, as they may be about to leave. Empty: one may join at any time.
  std::optional<std::uint64_t> together_us = {};
  /// This node comes back also while others serve, once no node owes anything any more. It waits for that, at most so
  /// long.
  std::optional<std::uint64_t> rejoins_us = {};
  bool recovers = true;  ///< Member::recovers
  /// Whether this node is to recover a life itself that owes something, since no node that serves does. Then it joins
  /// before that is settled, in a life for that alone (Membership::visits).
  std::function<bool(const Configuration&)> visits = [](const Configuration&) { return false; };
  /// Asked once before such a life begins, and not within a conversation with the board: an error ends join() before
  /// the others have learned of the life, as a visit that comes to nothing would make all of them begin anew.
  std::function<Status(const Configuration&)> check_visit = [](const Configuration&) { return Status(); };
  /// For how long join(), be_ready() and serve() ask the board again if it does not answer.
  std::uint64_t unreachable_us = 0;
  /// Asked now and then by join() while it waits: true ends it with kUnavailable.
  std::function<bool()> give_up = [] { return false; };
};

class Membership {
 public:
  /// What the node does when things happen. Called by step(), so by its thread, one at a time, without locks held; the
  /// fence has moved before. Not every version need be told of, but the last one is. While a call lasts nobody steps:
  /// one that takes a good part of a session's time-out costs the right to commit.
  struct Listener {
    std::function<void(const Configuration&)> changed = [](const Configuration&) {};
    std::function<void(const Status&)> lost = [](const Status&) {};  ///< the last call
    /// For whoever looks after the node: the board cannot be used, again every kWarnEvery_us, and when that is over.
    std::function<void(const std::string&)> warn = [](const std::string&) {};
  };

  /// Joins as kJoining, in a generation of its own. kAlreadyExists if the node is a member already, kFailedPrecondition
  /// if the cluster there is another one, kUnavailable if it serves already (together_us) or the board cannot be
  /// reached.
  static Result<std::unique_ptr<Membership>> join(std::unique_ptr<Board> board, MembershipOptions options,
                                                  Listener listener);
  /// Without leave(), this is a death: the mark goes, and others say so.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  NodeId node() const { return options_.node; }
  Generation generation() const { return generation_; }
  std::uint64_t cluster_id() const { return cluster_id_; }
  /// Others served when this node joined, so it comes back to a cluster that goes on.
  bool rejoined() const { return rejoined_; }
  /// This life is there only to recover former ones (MembershipOptions::visits): it never serves, and a next one comes
  /// back.
  bool visits() const { return visits_; }
  /// What the node's data is to remember.
  Life life() const {
    return {.cluster = options_.cluster, .node = options_.node, .cluster_id = cluster_id_, .generation = generation_};
  }
  const Fence& fence() const { return fence_; }
  const Living& living() const { return living_; }

  /// The newest that this node knows.
  std::shared_ptr<const Configuration> configuration() const;
  /// Waits until `holds` does of the newest configuration, while another thread steps; false after `timeout_us`, or
  /// when the membership is lost.
  bool wait_until(const std::function<bool(const Configuration&)>& holds, std::uint64_t timeout_us) const;
  /// OK, or kMembershipLost with "lost membership at generation G: why".
  Status status() const;

  /// Puts these members in the place of those of `version`. kFailedPrecondition if the configuration is of another
  /// version now; whoever called looks again.
  Status change(std::uint64_t version, std::vector<Member> members);
  /// Lets the others know: they find it beside this member in the configuration. In the place of what it said before;
  /// at most kMostNoteBytes.
  Status say(const std::string& note);
  /// This node has its data, and the leader of epochs can reach it.
  Status be_ready();
  /// This node serves from now on, and what its former lives owed is taken over.
  Status serve();
  /// Tells the others how far this node has done its part after lives have ended or begun.
  Status be_quiet(const Quiet& quiet);
  /// Claims the recovery of what a life owes, for this node. kFailedPrecondition if it owes nothing any more, if
  /// somebody lives who has claimed it, if the node itself is back to recover it, or if not all are quiet yet that have
  /// to be: about the life itself, and about whoever claimed it before.
  Status claim(NodeId node, Generation generation);
  /// Tells the others how far the recovery has come that this node has claimed. kFailedPrecondition if it has the claim
  /// no more.
  Status note_phase(NodeId node, Generation generation, RecoveryPhase phase);
  /// The life that this node has claimed owes nothing any more. kFailedPrecondition as above; kUnavailable while a
  /// member that has begun to serve since the claim is not quiet yet, so it is to be tried again soon.
  Status note_recovered(NodeId node, Generation generation);
  /// Gives a claim back, if this node has it: it cannot recover the life. Nobody waits for this life of the node any
  /// more (Owed::declined), though it may claim again.
  Status give_up_claim(NodeId node, Generation generation);
  /// From now on nothing is committed here, and the membership is no more to be used but to be ended: what is still
  /// under way gives up.
  void stop();
  /// Ends the membership in order: nothing is left to recover.
  Status leave();
  /// Ends it as the process's death would: something is left to recover.
  Status die();
  /// The same while the node still serves, and for a reason that status() and the listener tell.
  Status die(const std::string& why);

  /// Waits until something happens, at most `most_us`, and does what follows from it.
  void step(std::uint64_t most_us);
  /// Ends a step() that waits.
  void wake() { board_.wake(); }

 private:
  Membership(std::unique_ptr<PatientBoard> board, MembershipOptions options, Listener listener);
  Status enter();
  Status change_own(const std::function<void(Member&)>& edit);
  Status set_own_state(MemberState state);
  /// Changes what a life owes whose recovery this node has claimed.
  Status change_claimed(NodeId node, Generation generation, FunctionRef<Status(Configuration&, Owed&)> edit);
  void extend(std::uint64_t valid_until_us);
  Status end_as(MemberState state);
  Status follow(Configuration& configuration);
  Status check_own(const Configuration& configuration) const;
  /// Whether this life is over by the configuration, in that state.
  bool has_ended_as(const Configuration& configuration, MemberState state) const;
  void publish(Configuration configuration);
  bool lose(const std::string& why, bool by_itself = false);
  void tell();

  const MembershipOptions options_;
  const Listener listener_;
  PatientBoard& patient_;           ///< the board of document_
  ConfigurationDocument document_;  ///< its conversations begin before mutex_ is taken, never after
  Board& board_;                    ///< what document_ gives without a conversation
  MissingMarks missing_marks_;
  BoardSilence silence_;
  Generation generation_ = 0;
  std::uint64_t cluster_id_ = 0;
  bool rejoined_ = false;  ///< set while it joins
  bool visits_ = false;    ///< the same
  Fence fence_;
  Living living_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::shared_ptr<const Configuration> configuration_;  ///< guarded by mutex_
  Status status_;                                       ///< guarded by mutex_
  bool stopped_ = false;                                ///< by the node itself; guarded by mutex_
  bool told_lost_ = false;                              ///< guarded by mutex_
  /// The newest version that the listener knows; the stepping thread's.
  std::uint64_t told_version_ = 0;
};

}  // namespace granary::membership
