#pragma once
// Merges the results of nodes into one.

#include <span>

#include "bench/harness/result.h"

namespace granary::bench::cluster {

/// Returns the runs of several nodes as one. Requests, memory, logs, and what nodes did at each other are added up.
/// Latencies are those of all nodes together. Conditions are judged over all nodes, as some only hold for their sums.
/// Other figures are means over nodes, weighted by requests. Precondition: the runs are of the same workload, and there
/// is one at least.
Measurement merged(std::span<const Measurement> nodes);

}  // namespace granary::bench::cluster
