#pragma once
// Reports what a node's death and return did to a cluster, as text and as JSON.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/cluster/killed_run.h"

namespace granary::bench::cluster {

/// One figure over all repeats. The median is the lower middle one of an even number.
struct FigureOfAll {
  RecoveryFigure figure;  ///< its value is the median
  std::optional<double> greatest{};
  std::size_t runs = 0;  ///< the number of runs that have a value
};
std::vector<FigureOfAll> over_repeats(const std::vector<KilledRun>& runs);

/// Returns the figures over all repeats as a table, and the time line of the repeat `shown` by 50 ms. Stretches in
/// which nothing happens have one line with the mean of 50 ms. `labels` are those of all nodes. Precondition: `runs` is
/// not empty.
std::string recovery_text(const std::vector<std::string>& labels, const std::vector<KilledRun>& runs,
                          std::size_t shown);

/// Returns {"node", "bin_ms", "figures": {NAME: {"median", "greatest", "runs"}}, "repeats": [{..., "time_line",
/// "committed"}]}.
nlohmann::ordered_json recovery_json(const std::vector<std::string>& labels, const std::vector<KilledRun>& runs);

}  // namespace granary::bench::cluster
