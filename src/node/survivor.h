#pragma once
// The thread of a node that does what is to be done when lives of other nodes have ended or begun, so that somebody may
// act for the dead:
//
// 1. It cuts the dead off (rdma::Fabric::cut_off): nothing that they began takes effect at this node any more, nor do
//    this node's operations reach them.
// 2. Only then this node acts in the new membership (cluster::act_in), so that epochs go on.
// 3. It waits until this node is quiet. The fence has moved before (I11), so a transaction that began in an earlier
//    membership and has not passed its last question yet aborts. All others are over once every transaction of the
//    epoch E has ended that this thread has read after the fence had moved. The epoch gets there only once all members
//    act in the new membership; so this node acts in it before it waits.
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

/// The node's part in it, called by the thread alone.
struct SurvivorDuties {
  /// Cuts off the node's lives up to this one.
  std::function<Status(membership::NodeId node, membership::Generation last)> cut_off;
  /// The node acts in this membership from now on; before that it shows no snapshots that a dead node's debts may still
  /// change.
  std::function<void(const membership::Configuration&)> act;
  /// Called with each configuration in whose membership the node acts. Returns true if there is more to do soon, though
  /// nothing changes.
  std::function<bool(const membership::Configuration&)> follow;
  /// The epoch up to which the node's log is on the device.
  std::function<epoch::Epoch()> durable;
  /// Something cannot be done at present, and is tried again.
  std::function<void(const std::string&)> warn;
};

/// What the thread does in its turns. It waits for nothing but what the duties wait for, so a simulation takes the
/// turns itself. Used by one thread.
class SurvivorTurns {
 public:
  /// All that is passed outlives this.
  SurvivorTurns(membership::Membership& membership, const epoch::EpochManager& epochs, SurvivorDuties duties)
      : membership_(membership),
        epochs_(epochs),
        duties_(std::move(duties)) {}

  /// Does what can be done by now in this configuration, the newest. Returns true if there is more to do soon, though
  /// nothing changes.
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

  std::map<membership::NodeId, membership::Generation> cut_;  ///< lives up to there are cut off
  std::uint64_t acting_ = 0;                                  ///< the number of the membership that it acts in
  membership::Quiet quiet_;                                   ///< to be said, or said
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

  /// From now on this configuration holds. Any thread.
  void follow(const membership::Configuration& configuration);
  /// Ends the thread, once what it is doing has ended.
  void stop();

 private:
  void run();

  membership::Membership& membership_;
  SurvivorTurns turns_;  ///< the thread's own

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::shared_ptr<const membership::Configuration> newest_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace granary::db
