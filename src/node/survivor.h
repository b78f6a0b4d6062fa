#pragma once
// Adapts a node, by a thread, when lives of other nodes have ended or begun, so that a recoverer may act for the dead:
//
// 1. It cuts the dead off (rdma::Fabric::cut_off): nothing that they began takes effect at this node any more, nor do
//    this node's operations reach them.
// 2. Only then this node acts in the new membership (cluster::act_in), so that epochs go on.
// 3. It waits until this node is quiet. The fence has moved before (I11), so a transaction that began in an earlier
//    membership aborts if it has yet to ask the fence for the last time. All others are over once every transaction has
//    ended whose epoch is at most the E that this thread has read after the fence had moved. E passes that epoch only
//    when all members act in the new membership; so this node acts in it before it waits.
// 4. It says so in the configuration (membership::Quiet). When its log has these transactions, too, it says that: a
//    node that comes back takes from the log what they wrote to its records.
//
// Cutting off may take long (over `shm` it waits for the end of a process), and so may becoming quiet; the thread of
// the membership must not be held up by that, or this node would lose its own membership.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/membership.h"
#include "src/epoch/epoch.h"

namespace granary::db {

/// The node's part in this. Only the survivor's thread calls these functions.
struct SurvivorDuties {
  /// Cuts off the node's lives up to this one.
  std::function<Status(membership::NodeId node, membership::Generation last)> cut_off;
  /// Makes the node act in this membership from now on, and before that limits its snapshots to those that a dead
  /// node's debts cannot change any more.
  std::function<void(const membership::Configuration&)> act;
  /// Follows each configuration in whose membership the node acts. Returns true if there is more to do soon, though
  /// nothing changes.
  std::function<bool(const membership::Configuration&)> follow;
  /// Returns the epoch up to which the node's log is on the device.
  std::function<epoch::Epoch()> durable;
  /// Tells that something cannot be done at present, and is tried again.
  std::function<void(const std::string&)> warn;
};

/// Takes the turns of the survivor's thread. It waits only where the duties wait, so a simulation takes the turns
/// itself. Used by one thread.
class SurvivorTurns {
 public:
  /// All that is passed outlives this.
  SurvivorTurns(membership::Membership& membership, const epoch::EpochManager& epochs, SurvivorDuties duties)
      : membership_(membership),
        epochs_(epochs),
        duties_(std::move(duties)) {}

  /// Does what can be done by now in this configuration, which is the newest. Returns true if there is more to do soon,
  /// though nothing changes.
  bool take(const membership::Configuration& configuration);

 private:
  bool adapt(const membership::Configuration& configuration);
  bool cut_off_dead(const membership::Configuration& configuration);
  bool become_quiet(const membership::Configuration& configuration);
  void say(const membership::Quiet& quiet);
  void warn_once(const std::string& text);

  membership::Membership& membership_;
  const epoch::EpochManager& epochs_;
  const SurvivorDuties duties_;

  std::map<membership::NodeId, membership::Generation> cut_;  ///< lives up to these are cut off
  std::uint64_t acting_ = 0;                                  ///< the number of the membership that it acts in
  membership::Quiet quiet_;                                   ///< the statement to make at the board, or made there
  membership::Quiet said_;
  std::string warned_;
};

class Survivor {
 public:
  /// All that is passed outlives this.
  Survivor(membership::Membership& membership, const epoch::EpochManager& epochs, SurvivorDuties duties);
  ~Survivor() { stop(); }
  Survivor(const Survivor&) = delete;
  Survivor& operator=(const Survivor&) = delete;

  /// Passes the newest configuration to the thread. Any thread may call it.
  void follow(const membership::Configuration& configuration);
  /// Ends the thread when its present turn is over.
  void stop();

 private:
  void run();

  membership::Membership& membership_;
  SurvivorTurns turns_;  ///< used by the thread only

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::shared_ptr<const membership::Configuration> newest_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace granary::db
