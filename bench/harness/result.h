#pragma once
// The figures that one measurement yields.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/checkpoint_cost.h"
#include "bench/harness/histogram.h"
#include "bench/harness/workload.h"

namespace granary::bench {

/// The figures of one transaction type, summed over workers.
struct TypeResult {
  std::string name;
  std::uint64_t committed = 0;
  std::uint64_t rolled_back = 0;
  std::uint64_t gave_up = 0;
  std::uint64_t too_long = 0;  ///< how many of those are Ending::kTooLong
  std::uint64_t transactions =
      0;  ///< transactions that came to their end: one or several of each request (Request::transactions())
  AbortCounts aborts{};          ///< failed attempts by reason
  Histogram latency;             ///< in clock ticks, sampled
  Histogram durable;             ///< latency until the result may be shown; empty without a log
  std::uint64_t unreleased = 0;  ///< sampled requests whose results could not be shown within a bounded time

  /// Returns the number of requests that count as throughput.
  std::uint64_t finished() const { return committed + rolled_back; }
  std::uint64_t aborted() const;
  void add(const TypeResult& other);
};

/// The figures of one repeat.
struct Measurement {
  std::vector<TypeResult> types;
  std::uint64_t elapsed_ns = 0;
  double nanoseconds_per_tick = 1;
  double load_seconds = 0;  ///< how long its data took to load
  bool interrupted = false;
  bool pinned = false;
  double load_average_before = 0, load_average_after = 0;
  std::uint64_t resident_bytes = 0;
  StoreFigures loaded;  ///< the figures before the workers started
  std::optional<StoreFigures>
      begun;           ///< the figures when the measurement began; none if an older release made the report
  StoreFigures store;  ///< the figures when the workers had stopped
  CheckpointCost checkpoint_cost;
  /// Latencies until results may be shown, of all types, by the time of the release in the measurement: one for each
  /// durable_piece_seconds. Empty without a log.
  std::vector<Histogram> durable_pieces;
  double durable_piece_seconds = 0;
  std::vector<Sample> samples;  ///< one a second, warm-up included
  std::vector<ExtraFigure> extra;
  std::optional<ClusterFigures> cluster;  ///< counted since the measurement began
  std::vector<Finding> findings;
  bool verified = false;
  /// Set if the process has taken the place of one that was killed, and no other process knows what that had done.
  std::shared_ptr<const LifeAccount> lost_life;

  /// Returns the figures from which `store` counts on in the measurement, so that the warm-up is left out.
  const StoreFigures& baseline() const { return begun ? *begun : loaded; }
  TypeResult total() const;
  /// Returns how many requests were given up because memory ran out.
  std::uint64_t starved() const { return total().aborts[static_cast<std::size_t>(AbortReason::kOutOfMemory)]; }
  double seconds() const { return static_cast<double>(elapsed_ns) / 1e9; }
  double throughput() const { return rate(total().finished()); }
  double goodput() const { return rate(total().committed); }
  double rate(std::uint64_t requests) const { return elapsed_ns == 0 ? 0 : static_cast<double>(requests) / seconds(); }
  double microseconds(double ticks) const { return ticks * nanoseconds_per_tick / 1000; }
  double percentile_us(const TypeResult& type, double percent) const {
    return microseconds(static_cast<double>(type.latency.percentile(percent)));
  }
};

/// Leaves out the last run if a signal has cut it short and whole runs are left. Returns whether a run was cut short.
bool leave_out_interrupted(std::vector<Measurement>& runs);

/// Returns failed attempts among all attempts of transactions, 0 to 1.
double abort_share(const TypeResult& type);

/// Returns the index of the median by throughput (the lower one of an even number). Precondition: not empty.
std::size_t median_by_throughput(const std::vector<Measurement>& runs);

}  // namespace granary::bench
