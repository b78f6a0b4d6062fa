#pragma once
// ClusterFigures as JSON, for reports, and back, for whoever adds up those of all nodes.

#include <nlohmann/json.hpp>

#include "bench/harness/cluster_figures.h"

namespace granary::bench {

/// Counts, and what follows from them.
nlohmann::ordered_json cluster_json(const ClusterFigures& figures);

/// Throws what the library does if something is missing.
ClusterFigures cluster_figures_of(const nlohmann::ordered_json& json);

}  // namespace granary::bench
