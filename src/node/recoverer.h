#pragma once
// What a node does for dead ones whose directories it can open. It claims what such a life owes, settles that at all
// nodes that live, and puts what the dead node's rings have into its log. Then results are released again, and the node
// may come back.
//
// One recoverer acts at a time, and none before all are quiet (membership::Membership::claim). Each of its steps at
// another node asks its own fence first: a recoverer that is dead to the others may not act for anybody. A recovery
// that is cut short anywhere is begun anew, by this node or another one, and comes to the same.

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

/// What it needs of its node; all of it outlives it.
struct RecovererParts {
  membership::Membership& membership;
  base::FileSystem& files;
  /// The options of a node's database, if this node sees its directories.
  std::function<std::optional<Options>(membership::NodeId)> directory_of;
  RememberedLife remembered;
  /// Settles debts at the nodes that live, by the calling thread. It ends with an error when `may_act` says no.
  std::function<Result<cluster::SettleCounts>(std::span<const log::Debt> debts, const std::function<bool()>& may_act)>
      settle;
  std::function<epoch::Epoch()> epoch;  ///< E of the cluster
  std::function<void(NoticeSeverity, std::string)> tell;
  Recoveries& recoveries;  ///< told of what it does
};

/// Used by one thread, but for failure() and stop().
class Recoverer {
 public:
  explicit Recoverer(RecovererParts parts) : parts_(std::move(parts)) {}

  /// Does what there is to do for the lives that owe something by this configuration. Returns true if something is to
  /// be tried again soon, though the configuration stays as it is.
  bool step(const membership::Configuration& configuration);

  /// The node is about to leave: what is under way ends soon, also while a home that is to be reached does not answer.
  /// Any thread.
  void stop() { stopping_.store(true, std::memory_order_relaxed); }

  /// Why a life could not be recovered that still owes something; OK if there is none, or if the cause has yet to last
  /// for a while. kUnavailable: every such cause may still pass by itself. Any thread.
  Status failure() const;
  /// The same of one life.
  Status failure_of(const membership::Owed& debt) const;

 private:
  using Clock = std::chrono::steady_clock;
  using Life = std::pair<membership::NodeId, membership::Generation>;
  using Superseded = std::function<bool()>;  ///< whether there is a newer membership than the step began with
  /// What was tried in vain, and when it is tried again.
  struct Attempt {
    Clock::time_point first;  ///< when the first of them began
    Clock::time_point next = {};
    std::chrono::milliseconds pause;  ///< after the next failure that lasts
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
  mutable std::mutex mutex_;  // guards what follows
  std::map<Life, Status> failures_;
};

}  // namespace granary::db
