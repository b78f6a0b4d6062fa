#pragma once
// What this node knows of the recoveries of dead nodes: what is owed by the newest configuration, and what this node
// has done about it itself. It is for those who look at the cluster (Cluster::recoveries()); nothing that a node does
// goes by it.

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

/// Counts what was done about these debts.
void count_settled(std::span<const log::Debt> debts, const cluster::SettleCounts& settled, RecoveryWork& work);

/// Takes the time of the steps of one try to recover a life.
class RecoveryTry {
 public:
  RecoveryTry(std::uint64_t waited_us, std::uint64_t began_us)
      : work{.waited_us = waited_us},
        step_began_us_(began_us) {}
  /// The step is over, and the next one begins.
  void end_step(std::uint64_t RecoveryWork::*step_us);

  RecoveryWork work;

 private:
  std::uint64_t step_began_us_;
};

/// A recovery that this node does, as it looks from outside.
struct RecoveryUnderWay {
  membership::NodeId node = 0;
  membership::Generation generation = 0;
  std::string directory = {};  ///< what the life has left
  std::uint64_t rests_us = 0;  ///< for how long it has got no further
};

/// All calls are thread-safe.
class Recoveries {
 public:
  static constexpr std::size_t kMostEnded = 16;

  /// Takes over what an earlier life in this process has recovered.
  void inherit(const Recoveries& former);
  /// Notes when lives that owe something were heard of first, and forgets those that others have recovered.
  void follow(const membership::Configuration& configuration);

  // What the recoverer of this node does for one life after the other.
  /// It has the claim, and begins a try. One that follows on a cause that passes by itself goes on with the former
  /// one's time.
  /// `directory`: where it finds what the life has left.
  RecoveryTry begin(const membership::Owed& debt, const std::string& directory = {});
  /// It is about to do another thing, such as reading a part of a file. Any thread.
  void note_progress();
  /// How far the try has come.
  void note(const membership::Owed& debt, const RecoveryWork& work);
  /// `why`: empty if the cause passes by itself.
  void fail(const membership::Owed& debt, const std::string& why);
  /// `own`: this node, which has recovered the life.
  void end(const membership::Owed& debt, NodeNumber own, const RecoveryWork& work);

  /// The try of this node that is under way, if any.
  std::optional<RecoveryUnderWay> under_way() const;
  /// What Cluster::recoveries() returns.
  std::vector<NodeRecovery> list(const membership::Configuration& configuration) const;

 private:
  using Life = std::pair<membership::NodeId, membership::Generation>;
  struct Known {
    std::uint64_t since_us = 0;
    std::uint64_t claimed_us = 0;  ///< when the first of the tries began that go on now; 0: none does
    bool here = false;
    RecoveryWork work = {};
    std::string failure = {};
  };
  static Life life_of(const membership::Owed& debt) { return {debt.node, debt.generation}; }
  Known& known(const membership::Owed& debt);

  std::atomic<std::uint64_t> progress_us_{0};  ///< when it got further; relaxed: nothing is published by it
  mutable std::mutex mutex_;                   // guards what follows
  std::map<Life, Known> open_;
  std::string directory_;           ///< of the try that is under way
  std::optional<Life> under_way_;   ///< stays in open_ until its try is over, though nothing is owed by it any more
  std::deque<NodeRecovery> ended_;  ///< by this node; the latest at the end
};

}  // namespace granary::db
