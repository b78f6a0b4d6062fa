#pragma once
// Shows a run's figures node by node, as text.

#include <span>
#include <string>

#include "bench/harness/result.h"

namespace granary::bench::cluster {

/// Returns a table with a column for each node and one for all of them, and a line for each figure. Abort reasons and
/// hardware transactions are only in it if there were some.
std::string node_table(std::span<const std::string> labels, std::span<const Measurement> nodes, const Measurement& all);

}  // namespace granary::bench::cluster
