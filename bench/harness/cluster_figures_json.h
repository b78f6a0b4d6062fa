#pragma once
// Writes ClusterFigures as JSON, for reports, and reads them, to add up those of all nodes.

#include <nlohmann/json.hpp>

#include "bench/harness/cluster_figures.h"

namespace granary::bench {

/// Returns the counts, and the ratios that follow from them.
nlohmann::ordered_json cluster_json(const ClusterFigures& figures);

/// Reads the figures. Throws the library's exceptions if something is missing.
ClusterFigures cluster_figures_of(const nlohmann::ordered_json& json);

}  // namespace granary::bench
