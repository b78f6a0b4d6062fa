#pragma once
// Makes a node a member of its cluster: it joins, follows the configuration, and leaves or is lost. The Board has all
// that is special to the kind (`local`, `zookeeper`). The rules are here:
//
// - A node that joins makes its mark first and enters the configuration after that. So if the configuration is read
//   before the marks, a member that lives by the configuration and has no mark has died. A member that has missed the
//   mark for as long as the other's fence may be open (Board::fence_lasts_us()) says so in the configuration.
// - A node begins together with the others only when no other member serves by the configuration. If one does and has
//   no mark, the node first waits until it can count that member as dead.
// - The debt of a life that did not end in order stays in the configuration (Configuration::owed) until some member has
//   recovered it, or until a later life of the node serves after all nodes have started together. A life that joined
//   and left again meanwhile has taken nothing over, so it counts as dead, too; but a visit is not meant to take
//   anything over. Lives that begin and end while no node serves add nothing to the debt that their node has
//   (count_lives()).
// - A member that finds its mark gone, or itself dead in the configuration, or another cluster's configuration in the
//   place of its own, has lost its membership for good: its process ends (exit code 6).
// - An older life of a node is dead once a later one is in the configuration, whether or not any member saw it die.
//
// One thread calls step() (MembershipThread, or a simulation's). Everything else is thread-safe.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <granary/function_ref.h>
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
  std::string cluster;  ///< the cluster's name, which is the same for all members
  /// The fingerprint of everything that all members must have alike (the cluster file). All live members have the same.
  std::uint64_t fingerprint = 0;
  /// All nodes of the cluster. The debts of other nodes are forgotten when this node serves. Empty: any node may be
  /// one.
  std::vector<NodeId> nodes = {};
  std::string address;         ///< where peers find this node; at most kMostAddressBytes
  std::uint64_t protocol = 0;  ///< what nodes do with each other's memory and messages; all live members have the same
  std::string release = {};    ///< the release of this program, for nodes that are refused; at most kMostReleaseBytes
  /// The cluster's id as this node knows it from its data; 0: it knows none. The node may not join another cluster, nor
  /// a board without a configuration, as that has been wiped.
  std::uint64_t known_cluster_id = 0;
  /// Whether this node goes on with its data also at a board that has lost the configuration of its cluster. All nodes
  /// with data of that cluster are told so, and start together.
  bool accepts_new_board = false;
  Generation lowest_generation = 1;  ///< greater than that of any life that this node's data name

  /// The life that the node's data are of; 0: it has none. Joining is refused if a later life has had data since
  /// (Member::data_life), as the node's data are an older copy then, without the commits of that life.
  Generation data_generation = 0;
  std::string data_place = {};  ///< the node's data directory; empty: it has none
  /// Whether the directory has data in it. If it has none, and the node has served with data before (Member::has_data),
  /// the node may not come back to others that serve: a volume may not be mounted.
  bool finds_data = false;
  bool accepts_older_data = false;  ///< whether both refusals are left out
  /// Makes the node's data remember that they are of this life, before any other node learns of it. So data of a life
  /// before the last one are an older copy. An error ends join().
  std::function<Status(Generation)> note_life = [](Generation) { return Status(); };

  /// Sets these options from the memory of the node's data.
  void remember(const Life& life) {
    known_cluster_id = life.cluster_id;
    lowest_generation = life.generation + 1;
    data_generation = life.generation;
  }

  /// If it is set, all nodes begin together: this node does not join while others serve already, unless `rejoins_us` is
  /// set. It waits so long, or as long as marks may outlive their process, for nodes that seem to serve, as they may be
  /// about to leave. None: it may join at any time.
  std::optional<std::uint64_t> together_us = {};
  /// If it is set, this node comes back also while others serve, once no node owes anything any more. It waits so long
  /// for that at most.
  std::optional<std::uint64_t> rejoins_us = {};
  bool recovers = true;  ///< Member::recovers
  /// Whether this node is to recover a life itself that owes something, since no node that serves does. Then it joins
  /// before the debt is settled, in a life for that alone (Membership::visits).
  std::function<bool(const Configuration&)> visits = [](const Configuration&) { return false; };
  /// Is called once before such a life begins, and not within a conversation with the board. An error ends join()
  /// before the others have learned of the life, because a visit that comes to nothing would make all of them begin
  /// anew.
  std::function<Status(const Configuration&)> check_visit = [](const Configuration&) { return Status(); };
  /// How long join(), be_ready() and serve() ask the board again if it does not answer.
  std::uint64_t unreachable_us = 0;
  /// Is called now and then by join() while it waits. If it returns true, join() ends with kUnavailable.
  std::function<bool()> give_up = [] { return false; };
};

class Membership {
 public:
  /// The node's reactions to events. step() calls them in its thread, one at a time, without locks held, and the fence
  /// has moved before. Versions may be left out, but the last one is told of. During a call the membership makes no
  /// steps: a call that takes a good part of a session's time-out costs the right to commit.
  struct Listener {
    std::function<void(const Configuration&)> changed = [](const Configuration&) {};
    /// Gets the reason why the membership is over, unless the node has left. It is called once. `changed` may be called
    /// after it, as a node that has ended may still have to tell the others of its end (step()).
    std::function<void(const Status&)> lost = [](const Status&) {};
    /// Gets warnings for the users: that the board cannot be used, again every kWarnEvery_us, and that it can be used
    /// again.
    std::function<void(const std::string&)> warn = [](const std::string&) {};
  };

  /// Joins as kJoining, in a generation of its own. Returns kAlreadyExists if the node is a member already;
  /// kFailedPrecondition if the cluster there is another one; kUnavailable if it serves already (together_us) or the
  /// board cannot be reached.
  static Result<std::unique_ptr<Membership>> join(std::unique_ptr<Board> board, MembershipOptions options,
                                                  Listener listener);
  /// Ends the membership. Without leave(), this is a death: the mark goes, and other members say so.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  NodeId node() const { return options_.node; }
  Generation generation() const { return generation_; }
  std::uint64_t cluster_id() const { return cluster_id_; }
  /// Whether others served when this node joined, so that it comes back to a cluster that goes on.
  bool rejoined() const { return rejoined_; }
  /// Whether this life is there only to recover former ones (MembershipOptions::visits). It never serves, and the
  /// node's next life comes back.
  bool visits() const { return visits_; }
  /// Returns the life that the node's data are to remember.
  Life life() const {
    return {.cluster = options_.cluster, .node = options_.node, .cluster_id = cluster_id_, .generation = generation_};
  }
  const Fence& fence() const { return fence_; }
  const Living& living() const { return living_; }

  /// Returns the newest configuration that this node knows.
  std::shared_ptr<const Configuration> configuration() const;
  /// Waits until `holds` is true of the newest configuration, while another thread steps. Returns false after
  /// `timeout_us`, or when the membership is lost.
  bool wait_until(const std::function<bool(const Configuration&)>& holds, std::uint64_t timeout_us) const;
  /// Returns OK, or kMembershipLost with "lost membership at generation G: why".
  Status status() const;

  /// Replaces the members of configuration `version`. Returns kFailedPrecondition if the configuration is of another
  /// version now; then the caller looks again.
  Status change(std::uint64_t version, std::vector<Member> members);
  /// Publishes a note, which the others find with this member in the configuration. It replaces the former note, and
  /// has at most kMostNoteBytes.
  Status say(const std::string& note);
  /// Notes that this node has its data, and that the leader of epochs can reach it.
  Status be_ready();
  /// Notes that this node serves from now on, and that the debts of its former lives are taken over. Returns the error
  /// of `may`, and changes nothing, if the configuration in which the node would begin to serve does not allow that.
  Status serve(FunctionRef<Status(const Configuration&)> may = [](const Configuration&) { return Status(); });
  /// Tells the others how far this node has done its part after lives have ended or begun.
  Status be_quiet(const Quiet& quiet);
  /// Claims the recovery of a life's debt for this node. Returns kFailedPrecondition if the life owes nothing any more,
  /// if the claimer still lives, if the node itself is back to recover it, or if not all members are quiet yet that
  /// have to be: about the life itself, and about its former claimer.
  Status claim(NodeId node, Generation generation);
  /// Tells the others how far the recovery has come that this node has claimed. Returns kFailedPrecondition if it does
  /// not have the claim any more.
  Status note_phase(NodeId node, Generation generation, RecoveryPhase phase);
  /// Notes that the life whose recovery this node has claimed owes nothing any more. Returns kFailedPrecondition as
  /// note_phase(); kUnavailable while a member that has begun to serve since the claim is not quiet yet, so it is to be
  /// tried again soon.
  Status note_recovered(NodeId node, Generation generation);
  /// Gives a claim back, if this node has it, because it cannot recover the life. The others do not wait for this life
  /// of the node any more (Owed::declined), though it may claim again.
  Status give_up_claim(NodeId node, Generation generation);
  /// Stops all commits here, for good. The membership can only be ended after that; operations under way give up.
  void stop();
  /// Ends the membership in order, so that nothing is left to recover. If the board does not answer, this returns
  /// kUnavailable after a few seconds, and step() goes on to tell the others of the end. After another error they are
  /// not told. Then the mark goes, so they count the node as dead; if the board does not answer to that, step() goes
  /// on, too. All this holds for die() as well.
  Status leave();
  /// Ends the membership as the process's death would, so that something is left to recover.
  Status die();
  /// Ends it as die() does while the node still serves, for a reason that status() and the listener tell.
  Status die(const std::string& why);
  /// Whether step() has nothing to tell the others of the end of this membership.
  bool has_told_end() const;

  /// Waits until something happens, at most `most_us`, and does what follows from it.
  void step(std::uint64_t most_us);
  /// Ends a step() that waits.
  void wake() { board_.wake(); }

 private:
  Membership(std::unique_ptr<PatientBoard> board, MembershipOptions options, Listener listener);
  Status enter();
  Status change_own(const std::function<void(Member&)>& edit);
  Status set_own_state(MemberState state);
  /// Changes the debt of a life whose recovery this node has claimed.
  Status change_claimed(NodeId node, Generation generation, FunctionRef<Status(Configuration&, Owed&)> edit);
  void extend(std::uint64_t valid_until_us);
  /// An end of this life of which the others have to be told.
  struct UntoldEnd {
    MemberState state;                                ///< as what the life ends
    std::optional<MemberState> tried = std::nullopt;  ///< what an attempt may have written of it
  };
  Status end_as(MemberState state);
  Status try_to_end(UntoldEnd& end);
  void tell_end();
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
  ConfigurationDocument document_;  ///< its conversations begin before mutex_ is taken, never while it is held
  Board& board_;                    ///< the board of document_, for calls without a conversation
  MissingMarks missing_marks_;
  BoardSilence silence_;
  Generation generation_ = 0;
  std::uint64_t cluster_id_ = 0;
  bool rejoined_ = false;  ///< set while it joins
  bool visits_ = false;    ///< likewise
  Fence fence_;
  Living living_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::shared_ptr<const Configuration> configuration_;  ///< guarded by mutex_
  Status status_;                                       ///< guarded by mutex_
  bool stopped_ = false;                                ///< by the node itself; guarded by mutex_
  bool told_lost_ = false;                              ///< guarded by mutex_
  std::optional<UntoldEnd> untold_end_;                 ///< while step() has to tell it; guarded by mutex_
  /// The newest version that the listener knows. Only the stepping thread uses it.
  std::uint64_t told_version_ = 0;
};

}  // namespace granary::membership
