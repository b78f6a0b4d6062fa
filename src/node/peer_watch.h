#pragma once
// Says which other node keeps results from being released, and since when. There are three causes:
//   - A node has died. D stays where it is until what the node had under way is recovered.
//   - A node stands still, or keeps a transaction open, so that E cannot advance.
//   - The log of a node has failed, or is slow, so that D stays while E goes on.
// A node that is away for long holds back nothing, but the others keep their logs for it.
//
// It tells a notice when that begins and when it is over, and at any time it has a sentence for callers that wait
// (Database::wait_released, Cluster::release_status).

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <granary/notice.h>
#include <granary/status.h>

#include "cluster_config/membership/configuration.h"
#include "src/base/periodic_thread.h"
#include "src/epoch/control_block.h"
#include "src/node/recoveries.h"

namespace granary::db {

/// A node's view of the others at one moment.
struct PeerView {
  const membership::Configuration& configuration;
  std::span<const membership::NodeId> nodes = {};  ///< all nodes of the cluster file
  epoch::Epoch epoch = 0;                          ///< E
  epoch::Epoch durable = 0;                        ///< D
  /// The node for which E waits; known to the leader only.
  std::optional<membership::NodeId> waits_for = {};
  /// The node whose log has the least, so that D is no greater; known to the leader only.
  std::optional<membership::NodeId> least_logged = {};
  /// The recovery that this node does at present, if any.
  std::optional<RecoveryUnderWay> recovering = {};
  /// Whether a node that serves sees the directories of the dead one, so that it can recover it.
  std::function<bool(membership::NodeId dead)> can_be_recovered = [](membership::NodeId) { return true; };
};

/// Decides what to tell, without a thread and a clock of its own. Used by one thread at a time.
class PeerReports {
 public:
  /// `logs` says whether nodes have directories, so that results wait for D. E may rest for `still_us` before there is
  /// a notice. A node may be away for `keeps_us` before a notice tells that the others keep their logs for it; if that
  /// is 0, there is no such notice, as there are no checkpoints.
  PeerReports(membership::NodeId own, bool logs, std::uint64_t still_us, std::uint64_t keeps_us = 0)
      : own_(own),
        logs_(logs),
        still_us_(still_us),
        keeps_us_(keeps_us) {}

  /// Returns the notices to tell now.
  std::vector<Notice> look(const PeerView& view, std::uint64_t now_us);
  /// Returns in a sentence why D stays where it is; empty if this node knows no reason.
  std::string obstacle(std::uint64_t now_us) const;

 private:
  struct Dead {
    membership::Generation generation;
    std::uint64_t since_us;
  };
  struct Away {
    std::uint64_t since_us;
    bool told = false;
  };
  void look_for_deaths(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices);
  void look_at_debts(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices);
  void look_at_epoch(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices);
  void look_at_durable(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices);
  void look_at_recovery(const PeerView& view, std::vector<Notice>& notices);
  void look_for_logs_kept(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices);
  std::string holder_of_epoch(const PeerView& view) const;
  std::string holder_of_durable(const PeerView& view) const;

  const membership::NodeId own_;
  const bool logs_;
  const std::uint64_t still_us_;
  const std::uint64_t keeps_us_;
  std::map<membership::NodeId, membership::Generation> live_;  ///< the lives at the last look
  std::map<membership::NodeId, Dead> dead_;
  std::vector<membership::Owed> owed_;  ///< the debts at the last look; none without logs
  epoch::Epoch epoch_ = 0;
  std::uint64_t epoch_since_us_ = 0;
  std::uint64_t looked_us_ = 0;
  std::string holder_;  ///< who holds E back, while E stands still and that was told
  epoch::Epoch durable_ = 0;
  std::uint64_t durable_since_us_ = 0;
  std::string log_holder_;  ///< who holds D back, while D stands still for long though E goes on
  bool log_holder_told_ = false;
  std::optional<RecoveryUnderWay> resting_;  ///< a recovery of this node of which a notice says that it rests
  std::map<membership::NodeId, Away> away_;  ///< nodes of the cluster file that do not serve
};

/// A thread that looks at the other nodes from time to time, and tells the sink of notices.
class PeerWatch {
 public:
  /// Calls its argument with what the node sees, or does not call it if the node is no member any more.
  using See = std::function<void(const std::function<void(const PeerView&)>&)>;
  /// `first` is called before each look but the first one, and may take long.
  PeerWatch(PeerReports reports, NoticeSink sink, std::function<void()> first, See see);

  /// Ends the looks; obstacle() goes on to say what it said.
  void stop() { thread_.end(); }
  /// Returns PeerReports::obstacle(). Any thread may call it.
  std::string obstacle() const;

 private:
  /// Looks once, and returns the notices to tell.
  std::vector<Notice> look();

  const NoticeSink sink_;
  const See see_;
  mutable std::mutex mutex_;
  PeerReports reports_;  ///< guarded by mutex_
  base::PeriodicThread thread_;
};

}  // namespace granary::db
