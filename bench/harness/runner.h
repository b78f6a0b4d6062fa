#pragma once
// Makes one measurement: starts the workers together, warms up, measures by the wall clock, stops, sums up.

#include <cstdint>

#include <granary/options.h>

#include "bench/harness/result.h"
#include "bench/harness/stop_signals.h"
#include "bench/harness/workload.h"
#include "src/base/tsc_clock.h"

namespace granary::bench {

struct RunPlan {
  std::uint32_t workers = 2;
  std::uint32_t fibers = 1;  ///< clients of each worker
  double seconds = 30;
  double warmup_seconds = 2;
  std::uint64_t latency_sample = 1;
  bool pin = true;
  bool checkpoints = false;             ///< whether the store takes some, so that their cost is wanted
  bool progress = true;                 ///< whether to print a line a second on standard error
  Options options = {};                 ///< the options of the database, which say where it logs
  std::uint64_t runs_on_this_data = 1;  ///< this run and those to come, whose logs add up
  /// The time line of all nodes of a run. It says when the measurement begins, until when the warm-up lasts, and gets
  /// the requests of the node `node` (its place). With it the cost of checkpoints is not observed.
  TimeLine* time_line = nullptr;
  std::uint32_t node = 0;
};

/// Runs a loaded workload once. A stop signal ends it early; the result then says so and holds what was measured.
/// kResourceExhausted after the warm-up if, at its rate, the log would not fit.
Result<Measurement> measure(Workload& workload, const RunPlan& plan, const base::TscClock& clock, StopSignals& signals);

}  // namespace granary::bench
