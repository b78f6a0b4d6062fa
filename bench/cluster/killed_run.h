#pragma once
// A run in which a node was killed, as plain numbers: the work of all nodes over time, the time of each step of the
// recovery, and the figures that follow from both.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/cluster/recovery_watch.h"
#include "bench/harness/time_line.h"

namespace granary::bench::cluster {

using TickCounts = std::array<std::uint64_t, kTickCounts>;

/// The work of one node over time. All nodes have the same number of ticks, of kTickNs each.
struct NodeCourse {
  std::vector<TickCounts> ticks;
  std::vector<std::uint64_t> released_ns;  ///< when D first moved on in the tick; 0 if it did not
  std::uint64_t victim_used_ns =
      0;  ///< when a request first ended well that needed the victim's new life; 0 if none did

  std::uint64_t committed(std::size_t tick) const;
};

/// Times are of CLOCK_MONOTONIC; 0 if the event did not take place.
struct KilledRun {
  std::size_t victim = 0;  ///< its place among the nodes
  std::uint64_t begins_ns = 0, killed_ns = 0, restarted_ns = 0;
  StepTimes steps{};
  std::vector<NodeCourse> nodes;

  std::size_t ticks() const { return nodes.empty() ? 0 : nodes.front().ticks.size(); }
};

/// Copies the figures of a time line whose writers have ended.
KilledRun killed_run(const TimeLine& line, std::uint64_t killed_ns, const StepTimes& steps);

inline constexpr std::size_t kTicksOfBin = 10;  ///< the ticks of a bin, by which a time line is shown
inline constexpr std::uint64_t kBinNs = kTicksOfBin * kTickNs;
/// Returns how many bins the run has. The last one may not be whole.
std::size_t bins(const KilledRun& run);
/// Returns the counts of one node in one bin.
TickCounts counts_of(const NodeCourse& node, std::size_t bin);
std::uint64_t committed(const TickCounts& counts);

struct RecoveryFigure {
  std::string_view name;     ///< "noticed_ms": for JSON
  std::string_view meaning;  ///< for people
  std::optional<double> value{};
};

/// Returns the figures. Each run has the same ones, in the same order; a figure that cannot be told has no value. The
/// greater, the worse.
std::vector<RecoveryFigure> recovery_figures(const KilledRun& run);

}  // namespace granary::bench::cluster
