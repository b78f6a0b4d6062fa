#include "bench/cluster/kill_run.h"

#include <utility>

namespace granary::bench::cluster {

namespace {

std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

}  // namespace

Result<std::unique_ptr<KillRun>> KillRun::make(const Kill& kill, std::size_t nodes, const FlagValues& flags,
                                               std::unique_ptr<membership::Board> board) {
  auto line = TimeLine::make({.nodes = static_cast<std::uint32_t>(nodes),
                              .workers = static_cast<std::uint32_t>(flags.integer("workers")),
                              .victim = static_cast<std::uint32_t>(kill.node),
                              .returns = kill.restart_after_seconds ? 1u : 0u,
                              .ticks = (nanoseconds(flags.real("seconds")) + kTickNs - 1) / kTickNs});
  if (!line.ok()) return line.status();
  return std::unique_ptr<KillRun>(new KillRun(kill, flags, std::move(*line), std::move(board)));
}

KillRun::KillRun(const Kill& kill, const FlagValues& flags, std::unique_ptr<TimeLine> line,
                 std::unique_ptr<membership::Board> board)
    : kill_(kill),
      warmup_ns_(nanoseconds(flags.real("warmup"))),
      line_(std::move(line)),
      board_(std::move(board)) {}

/// Returns the options for drive(). The watch begins when all nodes serve, because until then the board may tell of an
/// earlier run.
DriveOptions KillRun::options() {
  PlannedDeath death{.node = kill_.node, .after_ns = warmup_ns_ + nanoseconds(kill_.at_seconds)};
  if (kill_.restart_after_seconds) death.back_after_ns = nanoseconds(*kill_.restart_after_seconds);
  death.begun = [this](std::uint64_t now_ns) {
    line_->begin(now_ns + warmup_ns_);
    watch_ = std::make_unique<RecoveryWatch>(std::move(board_), kill_.id);
  };
  death.killed = [this](std::uint64_t now_ns) { killed_ns_ = now_ns; };
  death.restarts = [this](std::uint64_t now_ns) { line_->note_restart(now_ns); };
  return {.death = std::move(death), .inherited = line_->descriptor()};
}

Result<KilledRun> KillRun::end() {
  if (watch_ == nullptr || killed_ns_ == 0)
    return Status(StatusCode::kUnavailable, "the run ended before the node was killed");
  return killed_run(*line_, killed_ns_, watch_->stop());
}

}  // namespace granary::bench::cluster
