#pragma once
// One run in which a node is killed: the time line that all nodes share, and the watch over the recovery.

#include <memory>

#include "bench/cluster/drive.h"
#include "bench/cluster/kill.h"
#include "bench/cluster/killed_run.h"
#include "bench/cluster/recovery_watch.h"

namespace granary::bench::cluster {

class KillRun {
 public:
  /// `nodes` and `flags` (workers, seconds, warmup) are those of the run. Its nodes meet at `board`.
  static Result<std::unique_ptr<KillRun>> make(const Kill& kill, std::size_t nodes, const FlagValues& flags,
                                               std::unique_ptr<membership::Board> board);

  /// Returns the options for drive(), during which this must live.
  DriveOptions options();
  /// Ends the watch after drive(), and returns the run. kUnavailable if it ended before the node was killed.
  Result<KilledRun> end();
  const LifeAccount& lost_account() const { return line_->lost_account(); }

 private:
  KillRun(const Kill& kill, const FlagValues& flags, std::unique_ptr<TimeLine> line,
          std::unique_ptr<membership::Board> board);

  const Kill kill_;
  const std::uint64_t warmup_ns_;
  const std::unique_ptr<TimeLine> line_;
  std::unique_ptr<membership::Board> board_;  ///< set until the nodes serve; then the watch has it
  std::unique_ptr<RecoveryWatch> watch_;
  std::uint64_t killed_ns_ = 0;
};

}  // namespace granary::bench::cluster
