#pragma once
// Notes what this node knows of the recoveries of dead nodes: what is owed by the newest configuration, and what this
// node itself has done about it. It is for people and programs that look at the cluster (Cluster::recoveries()); no
// node decides anything by it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <granary/cluster.h>

#include "cluster_config/membership/configuration.h"
#include "src/cluster/recovery/settle_all.h"
#include "src/log/debt.h"

namespace granary::db {

/// Fills the counts of `work` with what was done about these debts.
void count_settled(std::span<const log::Debt> debts, const cluster::SettleCounts& settled, RecoveryWork& work);

/// Takes the time of the steps of one try to recover a life.
class RecoveryTry {
 public:
  RecoveryTry(std::uint64_t waited_us, std::uint64_t began_us)
      : work{.waited_us = waited_us},
        step_began_us_(began_us) {}
  /// Notes how long the step that is over took, and begins the next one.
  void end_step(std::uint64_t RecoveryWork::*step_us);

  RecoveryWork work;

 private:
  std::uint64_t step_began_us_;
};

/// A recovery that this node does, as it looks from outside.
struct RecoveryUnderWay {
  membership::NodeId node = 0;
  membership::Generation generation = 0;
  std::string directory = {};  ///< where the life has left its data
  std::uint64_t rests_us = 0;  ///< for how long the recovery has waited for that directory's device; 0: it does not
};

/// All calls are thread-safe.
class Recoveries {
 public:
  static constexpr std::size_t kMostEnded = 16;

  /// Takes over what an earlier life in this process has recovered.
  void inherit(const Recoveries& former);
  /// Notes when this node first heard of lives that owe something, and forgets those that others have recovered.
  void follow(const membership::Configuration& configuration);

  // The recoverer of this node calls the following, for one life after the other.
  /// Notes that the recoverer has the claim and begins a try. `directory` is where the life has left its data. A try
  /// after one whose cause passes by itself goes on with the former one's time.
  RecoveryTry begin(const membership::Owed& debt, const std::string& directory = {});
  /// Notes that the recoverer makes progress, such as to read another part of a file. From now on it may wait for the
  /// directory's device. Any thread may call it.
  void note_progress();
  /// Notes that the recoverer waits for the cluster's board or for other nodes, and for no device, until
  /// note_progress().
  void note_elsewhere() { progress_us_.store(kElsewhere, std::memory_order_relaxed); }
  /// Notes how far the try has come.
  void note(const membership::Owed& debt, const RecoveryWork& work);
  /// Notes that the try has failed. `why` is empty if the cause passes by itself.
  void fail(const membership::Owed& debt, const std::string& why);
  /// Notes that this node, `own`, has recovered the life.
  void end(const membership::Owed& debt, NodeNumber own, const RecoveryWork& work);

  /// Returns the try of this node that is under way, if any.
  std::optional<RecoveryUnderWay> under_way() const;
  /// Returns what Cluster::recoveries() returns.
  std::vector<NodeRecovery> list(const membership::Configuration& configuration) const;

 private:
  using Life = std::pair<membership::NodeId, membership::Generation>;
  struct Known {
    std::uint64_t since_us = 0;
    std::uint64_t claimed_us = 0;  ///< when the first of the present tries began; 0: there is none
    bool here = false;
    RecoveryWork work = {};
    std::string failure = {};
  };
  static Life life_of(const membership::Owed& debt) { return {debt.node, debt.generation}; }
  Known& known(const membership::Owed& debt);

  static constexpr std::uint64_t kElsewhere = ~std::uint64_t{0};
  /// When the try last made progress, or kElsewhere. Relaxed, since nothing is published by it.
  std::atomic<std::uint64_t> progress_us_{0};
  mutable std::mutex mutex_;  // guards the members below
  std::map<Life, Known> open_;
  std::string directory_;           ///< the directory of the try that is under way
  std::optional<Life> under_way_;   ///< stays in open_ until its try is over, even if it owes nothing any more
  std::deque<NodeRecovery> ended_;  ///< recoveries by this node, the latest at the end
};

}  // namespace granary::db
