#pragma once
// Nodes' results as one.

#include <span>

#include "bench/harness/result.h"

namespace granary::bench::cluster {

/// One run of several nodes: requests, memory and logs added up, latencies of all together, conditions judged over all
/// (what only all nodes' sums can tell is told here), what they did at each other added up; other figures as the mean
/// over nodes, each weighted by its requests. Precondition: not empty, and of the same workload.
Measurement merged(std::span<const Measurement> nodes);

}  // namespace granary::bench::cluster
