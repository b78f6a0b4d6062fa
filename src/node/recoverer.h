#pragma once
// Recovers dead nodes whose directories this node can open. It claims what a dead life owes, settles that at all nodes
// that live, and puts what the dead node's rings have into its log. Then results are released again, and the dead node
// may come back.
//
// One recoverer acts at a time, and none before all nodes are quiet (membership::Membership::claim). Before each step
// at another node it asks its own fence: a recoverer that is dead to the others may not act for anybody. A recovery
// that is cut short anywhere is begun anew, by this node or another one, with the same result.

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <granary/notice.h>
#include <granary/options.h>

#include "cluster_config/membership/membership.h"
#include "src/base/file.h"
#include "src/cluster/recovery/settle_all.h"
#include "src/node/dead_directory.h"
#include "src/node/recoveries.h"

namespace granary::db {

/// The parts of its node that a Recoverer needs. All of them outlive it.
struct RecovererParts {
  membership::Membership& membership;
  base::FileSystem& files;
  /// Returns the options of a node's database, if this node sees its directories.
  std::function<std::optional<Options>(membership::NodeId)> directory_of;
  RememberedLife remembered;
  /// Settles debts at the nodes that live, by the calling thread. It ends with an error when `may_act` says no.
  std::function<Result<cluster::SettleCounts>(std::span<const log::Debt> debts, const std::function<bool()>& may_act)>
      settle;
  std::function<epoch::Epoch()> epoch;  ///< returns the cluster's E
  std::function<void(NoticeSeverity, std::string)> tell;
  Recoveries& recoveries;  ///< is told of all that the Recoverer does
};

/// Used by one thread, but for failure() and stop().
class Recoverer {
 public:
  explicit Recoverer(RecovererParts parts) : parts_(std::move(parts)) {}

  /// Recovers the lives that owe something by this configuration, as far as it can. Returns true if something has to be
  /// tried again soon, though the configuration stays as it is.
  bool step(const membership::Configuration& configuration);

  /// Has the recovery that is under way end soon, also while a home does not answer, because the node is about to
  /// leave. Any thread may call it.
  void stop() { stopping_.store(true, std::memory_order_relaxed); }

  /// Returns why a life that still owes something could not be recovered. OK if there is no such life, or if the cause
  /// has not yet lasted for a while. kUnavailable if all such causes may still pass by themselves. Any thread may call
  /// it.
  Status failure() const;
  /// Returns failure() for this one life.
  Status failure_of(const membership::Owed& debt) const;

 private:
  using Clock = std::chrono::steady_clock;
  using Life = std::pair<membership::NodeId, membership::Generation>;
  using Superseded = std::function<bool()>;  ///< whether there is a newer membership than the step began with
  /// The attempts to recover a life that have failed, and when the next one comes.
  struct Attempt {
    Clock::time_point first;  ///< when the first of them began
    Clock::time_point next = {};
    std::chrono::milliseconds pause;  ///< the pause after the next failure that lasts
    std::string told = {};            ///< the last reason that was told
  };

  bool may_recover(const membership::Configuration& configuration, const membership::Owed& debt) const;
  Status recover(const membership::Owed& debt, const Options& options, const Superseded& superseded);
  Status settle_and_adopt(const membership::Owed& debt, DeadNode& dead, RecoveryTry& now, const Superseded& superseded);
  void tell_recovered(const membership::Owed& debt, const RecoveryWork& work) const;
  void note_failure(const membership::Owed& debt, const Status& why, Clock::time_point began);
  void forget_recovered();

  const RecovererParts parts_;
  std::atomic<bool> stopping_{false};  // relaxed: nothing is published by it
  std::map<Life, Attempt> attempts_;
  mutable std::mutex mutex_;  // guards failures_
  std::map<Life, Status> failures_;
};

}  // namespace granary::db
