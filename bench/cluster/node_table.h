#pragma once
// A run's figures node by node, as text.

#include <span>
#include <string>

#include "bench/harness/result.h"

namespace granary::bench::cluster {

/// A column for each node and one for all of them; a line a figure. Abort reasons and hardware transactions only if
/// there were some.
std::string node_table(std::span<const std::string> labels, std::span<const Measurement> nodes, const Measurement& all);

}  // namespace granary::bench::cluster
